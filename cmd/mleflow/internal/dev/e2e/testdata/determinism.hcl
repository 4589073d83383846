# What the determinism test applies: both demonstrations, whose data ship with
# the program, and two golden cases with zip files, pictures and floats.

variable "raw" { type = string }

locals {
  shipped = competitions("demo")
  golden  = toset(["denoising-dirty-documents", "leaf-classification"])
  ids     = setunion(local.shipped, local.golden)
}

agent "dummy" { command = ["mleflow", "agent", "dummy"] }

step "download" "raw" {
  for_each    = local.ids
  competition = each.key
  from        = contains(local.golden, each.key) ? "${var.raw}/${each.key}" : null
}

step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].tree
}

step "checksum" "data" {
  for_each    = local.ids
  competition = each.key
  prepared    = step.prepare.data[each.key]
  on_mismatch = "warn"
}

step "agent-run" "solve" {
  for_each    = local.ids
  agent       = agent.dummy
  competition = each.key
  seed        = 0
  data        = step.checksum.data[each.key].public
  timeout     = "5m"
  resources { cpus = 1 }
}

step "grade" "score" {
  for_each    = local.ids
  competition = each.key
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.key].private
  labels      = { agent = "dummy", seed = "0" }
}

step "aggregate" "board" {
  reports  = values(step.grade.score)[*].report
  group_by = "complexity"
}

output "leaderboard" { value = step.aggregate.board.table }
