# Prints its variable.

variable "value" {
  type    = any
  default = null
}

output "value" { value = jsonencode({ value = var.value }) }
