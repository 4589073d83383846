variable "tries" {
  type        = number
  default     = 3
  description = "Attempts at each competition."
  sensitive   = false
  validation {
    condition     = var.tries >= 1
    error_message = "There must be an attempt."
  }
}
