import {
  to = sandbox_instance.analysis
  id = "local:#taskowned-0123456789abcdefghijklmnop"
}
