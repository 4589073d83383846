# The agent NAME on a small competition, three seeds, compared with two agents that
# are part of mleflow.
#
#   mleflow apply FILE    runs it; the second time, everything is cached
#
# Edit the agent and apply again: only its attempts and what depends on them run.

mleflow {
  required_version = ">= 0.1"
}

variable "seeds" {
  type    = number
  default = 3
}

variable "data" {
  type        = string
  default     = "real"
  description = "real, or rehearsal: tiny synthetic data, see mleflow rehearse."
}

MODELBLOCK
# It reads DATA_DIR and writes SUBMISSION_DIR/submission.csv. Its files are inputs
# by content, and are in the folder where the command starts; add others it needs.
agent "NAME" {
PACKAGES
  command = COMMAND
  files   = { QUOTED = QUOTED }
MODELS
}

# For comparison: the sample submission, and a small neural network.
agent "dummy" {
  command = ["mleflow", "agent", "dummy"]
}

agent "baseline" {
  command = ["mleflow", "agent", "baseline"]
}

locals {
  ids    = ["demo-digits"] # or competitions("low"), for the 22 of MLE-bench Lite
  agents = agents(agent.NAME, agent.dummy, agent.baseline)

  # One entry per attempt; its key is part of the step's address.
  runs = {
    for run in setproduct(keys(local.agents), local.ids, range(var.seeds)) :
    "${run[0]}/${run[1]}/${run[2]}" => { agent = run[0], id = run[1], seed = run[2] }
  }
}

step "download" "raw" {
  for_each    = local.ids
  competition = each.key
  data        = var.data
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
  agent       = local.agents[each.value.agent]
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
  labels      = { agent = each.value.agent, seed = each.value.seed }
}

step "aggregate" "board" {
REPORTS
}

output "leaderboard" {
  value = step.aggregate.board.table
}
