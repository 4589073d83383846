# mleflow's own image, made by mleflow without Docker: the static program, the
# certificates of this machine's authorities, and nothing else.
#
#   make image

variable "program" {
  type        = string
  default     = "bin/mleflow"
  description = "A static mleflow for Linux, from make build or a release."
}

variable "certificates" {
  type        = string
  default     = "/etc/ssl/certs/ca-certificates.crt"
  description = "The CA certificates for TLS."
}

step "image" "mleflow" {
  files = {
    "/usr/local/bin/mleflow"             = var.program
    "/etc/ssl/certs/ca-certificates.crt" = var.certificates
  }
  texts   = { "/etc/passwd" = "root:x:0:0:root:/root:/usr/local/bin/mleflow\n", "/tmp/.keep" = "" }
  env     = { PATH = "/usr/local/bin", MLEFLOW_CACHE_DIR = "/cache" }
  workdir = "/work"
}

output "image" {
  value       = step.image.mleflow.image
  description = "The OCI archive."
}

output "digest" {
  value       = step.image.mleflow.digest
  description = "Digest of the image's manifest."
}
