step "exec" "report" {
  for_each   = toset(local.ids)
  depends_on = [step.checksum.data]
  when       = var.tries > 0
  command    = ["sh", "-c", "date > day.txt"]
  outputs    = ["day.txt"]
  on         = "local"
  timeout    = "10m"
  precondition {
    condition     = var.tries < 100
    error_message = "That is too much for ${each.key}."
  }
  postcondition {
    condition     = self.tree != null
    error_message = "${each.key} has no report."
  }
  retry {
    attempts    = 3
    backoff     = "1s"
    max_backoff = "1m"
  }
  publish {
    output  = "tree"
    to      = "reports/${each.key}"
    link    = false
    private = true
  }
  resources {
    cpus   = 1
    memory = "1GiB"
    gpus   = 0
    disk   = "10GiB"
  }
}
