import {
  to = sandbox_instance.analysis
  identity = {
    location = "local:"
    handle   = "taskowned-0123456789abcdefghijklmnop"
  }
}
