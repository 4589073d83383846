# A first pipeline: one agent on one small competition, three seeds.
#
#   mleflow plan  FILE    what would run, and why
#   mleflow apply FILE    runs it; the second time, everything is cached
#
# Change something and plan again: only the steps that depend on it run.

mleflow {
  required_version = ">= 0.1"
}

variable "agent" {
  type        = string
  default     = "baseline"
  description = "Name of the agent block to run."
}

variable "seeds" {
  type    = number
  default = 3
}

locals {
  ids  = ["demo-digits"] # or competitions("low"), for the 22 of MLE-bench Lite
  runs = { for run in setproduct(local.ids, range(var.seeds)) : "${run[0]}/${run[1]}" => { id = run[0], seed = run[1] } }
}

# An agent is a command that reads DATA_DIR and writes SUBMISSION_DIR/submission.csv.
agent "baseline" {
  command = ["mleflow", "agent", "baseline"]
}

agent "dummy" {
  command = ["mleflow", "agent", "dummy"]
}

step "download" "raw" {
  for_each    = local.ids
  competition = each.key
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
}

step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent[var.agent]
  competition = each.value.id
  seed        = each.value.seed
  data        = step.checksum.data[each.value.id].public
  task        = "own" # for competitions of MLE-bench write "reference": its own texts
  timeout     = "10m"
}

step "grade" "score" {
  for_each    = local.runs
  competition = each.value.id
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.value.id].private
  labels      = { agent = var.agent, seed = each.value.seed }
}

step "aggregate" "board" {
  reports = values(step.grade.score)[*].report
}

output "leaderboard" {
  value = step.aggregate.board.table
}
