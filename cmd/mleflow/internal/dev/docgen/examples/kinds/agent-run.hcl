step "agent-run" "solve" {
  for_each           = toset(local.ids)
  agent              = agent.baseline
  competition        = each.key
  version            = "v1"
  seed               = 0
  data               = step.checksum.data[each.key].public
  task               = "own"
  texts              = step.task.texts[each.key]
  sketch             = step.sketch.data[each.key].sketch
  runtime            = "sandbox"
  required_isolation = "sandbox"
  env                = { LOG = "debug" }
  handler            = "runc"
  user               = "1000:1000"
  capabilities       = ["CAP_SYS_PTRACE"]
  shm                = "1GiB"
  processes          = 4096
  disk_limit         = "50GiB"
  setup_timeout      = "1h"
  shim               = true
  snapshot_every     = "10m"
  on_loss            = "resume"
  resume             = ["mleflow", "agent", "baseline"]
  checkpoint_every   = "10m"
  checkpoint_limit   = "5GiB"
  checkpoint_keep    = "1h"
  stalled_after      = "1h"
  on_stall           = "requeue"
  watch_data         = true
  timeout            = "24h"
  network {
    allow = ["pypi.org:443"]
    open  = false
  }
  resources { memory = "8GiB" }
}
step "agent-run" "scored" {
  agent       = agent.baseline
  competition = "demo-digits"
  data        = step.checksum.data["demo-digits"].public
  feedback    = "validation"
  validation  = step.holdout.validation
  queries     = 20
  every       = "10m"
  report      = "rank"
}
step "agent-run" "forked" {
  agent       = agent.baseline
  competition = "demo-digits"
  data        = step.checksum.data["demo-digits"].public
  fork        = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef@6h0m0s"
}
