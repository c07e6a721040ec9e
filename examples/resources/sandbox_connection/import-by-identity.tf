import {
  to = sandbox_connection.here
  identity = {
    location = "local:"
  }
}
