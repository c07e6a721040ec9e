# A root file system, made once by
#   docker export "$(docker create python:3.12-slim)" > rootfs.tar
resource "sandbox_image" "python" {
  connection_uri = "local:"
  from           = abspath("rootfs.tar")
}

resource "sandbox_instance" "python" {
  connection_uri = "local:"
  image          = sandbox_image.python.reference
  lifetime       = "1h"

  # The next image is built before this sandbox is destroyed.
  lifecycle {
    create_before_destroy = true
  }
}
