variable "model" {
  type    = string
  default = MODEL
}

variable "base_url" {
  type        = string
  default     = null
  description = "Address of another server that speaks the protocol of PROVIDER."
}

# The model is reached through mleflow's gateway, which keeps the key, holds the
# budget of each attempt and records every request. The agent never has the key.
model "main" {
  provider = "PROVIDER"
  base_url = var.base_url
  key      = "env:KEYVAR"
  models   = [var.model]
  budget {
BUDGET
  }
PRICE}

