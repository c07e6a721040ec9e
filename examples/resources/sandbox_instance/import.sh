# By LOCATION#HANDLE
terraform import sandbox_instance.analysis 'local:#taskowned-0123456789abcdefghijklmnop'
