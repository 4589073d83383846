# The development set: 7 competitions to try an agent on before it is measured,
# since none of them is part of MLE-bench. From the raw data to a leaderboard.
#
#   mleflow plan  pipelines/dev.hcl                      what would run, and why
#   mleflow apply pipelines/dev.hcl                      takes the data from Kaggle, or says how to get them
#   mleflow apply pipelines/dev.hcl -var raw=downloads   takes downloads/<id>/, or downloads/<id>.zip
#   mleflow apply pipelines/dev.hcl --adopt DIR          takes what a data directory of MLE-bench has
#   mleflow apply pipelines/dev.hcl --mirror DIR         takes DIR/<id>.zip and, of a checkout of MLE-bench, the texts
#   mleflow plan  pipelines/dev.hcl --preflight          asks Kaggle: credential, rules, size, disk
#
# What one competition cannot do need not stop the others, and one step with
# all that it needs can be asked for:
#
#   mleflow apply pipelines/dev.hcl --keep-going
#   mleflow apply pipelines/dev.hcl -target 'step.grade.score["dummy/spaceship-titanic/0"]'
#
# dev.hcl, lite.hcl, medium.hcl, high.hcl and full.hcl are one text: they differ
# in this head, the set, the title and two defaults, and share what they make.

mleflow {
  required_version = ">= 0.1"
}

variable "agent" {
  type        = string
  default     = "dummy"
  description = "Name of the agent block that is measured."
}

variable "against" {
  type        = list(string)
  default     = []
  description = "Names of agent blocks that are measured beside it, and that it is compared with."
}

variable "task" {
  type        = string
  default     = "reference"
  description = "What the agent is told: reference (MLE-bench's own texts, to the byte), obfuscated (those that name neither Kaggle nor the competition) or own (our short text, which needs no network; its scores cannot be compared with published ones)."
}

variable "seeds" {
  type        = number
  default     = 1
  description = "How often an agent tries each competition, every time with another seed."
}

variable "runtime" {
  type        = string
  default     = "process"
  description = "What runs the agent. The runtime process needs nothing and does not isolate it."
}

variable "timeout" {
  type        = string
  default     = "1h"
  description = "How long one attempt may take. What is submitted by then counts."
}

variable "cpus" {
  type        = number
  default     = 2
  description = "Processors of one attempt. As many attempts run side by side as the machine has room for."
}

variable "memory" {
  type        = string
  default     = "4GiB"
  description = "Memory of one attempt."
}

variable "gpus" {
  type        = number
  default     = 0
  description = "GPUs of one attempt, which no other has at the same time."
}

variable "usage" {
  type        = bool
  default     = false
  description = "Whether the leaderboard says what the attempts took: time, tokens, cost. It is then another one each time they run."
}

variable "raw" {
  type        = string
  default     = null
  description = "Folder with a folder <id> (the unpacked download) or an archive <id>.zip for each competition; null takes the data from Kaggle."
}

variable "params" {
  type        = map(map(string))
  default     = {}
  description = "Parameters of competitions, by competition and name. The pins hold for the defaults; for other data there may be others."
}

variable "pins" {
  type        = map(string)
  default     = { icecube-neutrinos-in-deep-ice = "v2" }
  description = "Competitions whose data are checked against the pins of another version than v1. icecube's sums of v1 are those of one release of the library that wrote the reference's Parquet files; v2 has the same data, pinned by what they hold."
}

variable "on_mismatch" {
  type        = string
  default     = "fail"
  description = "What prepared data that are not what the competition pins do: fail, or warn for a try with other data."
}

locals {
  ids    = competitions("dev")
  agents = distinct(concat([var.agent], var.against))

  # One entry for every attempt. Its key becomes part of the step's address:
  # step.agent-run.solve["dummy/spaceship-titanic/0"].
  runs = {
    for run in setproduct(local.agents, local.ids, range(var.seeds)) :
    "${run[0]}/${run[1]}/${run[2]}" => { agent = run[0], competition = run[1], seed = run[2] }
  }
}

# Put your own agent beside these and choose it by -var agent=NAME, or compare
# it by -var 'against=["baseline"]' too. A new command runs its attempts anew and
# leaves the data alone.
agent "dummy" {
  command = ["mleflow", "agent", "dummy"] # submits the sample submission
}

agent "baseline" {
  command = ["mleflow", "agent", "baseline"] # trains a small neural network on tables
}

# A local folder and Kaggle give the same data, so they give the same result:
# the next step goes by what the files hold, not by where they came from.
step "download" "raw" {
  for_each    = local.ids
  competition = each.key
  from        = var.raw == null ? null : "${var.raw}/${each.key}"
}

# Splits them into public files, which agents see, and private ones with the
# answers.
step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].tree
  params      = try(var.params[each.key], {})
}

# Lets the data through only when they are what the competition pins: a score
# on other data says nothing.
step "checksum" "data" {
  for_each    = local.ids
  competition = each.key
  version     = try(var.pins[each.key], "v1")
  prepared    = step.prepare.data[each.key]
  on_mismatch = var.on_mismatch
}

# The agent sees the public files alone and has no network. The texts of its task
# are got before, by steps task.solve: from --adopt, --mirror or the network.
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent[each.value.agent]
  competition = each.value.competition
  seed        = each.value.seed
  data        = step.checksum.data[each.value.competition].public
  task        = var.task
  runtime     = var.runtime
  timeout     = var.timeout

  resources {
    cpus   = var.cpus
    memory = var.memory
    gpus   = var.gpus
  }
}

# Scores each submission. The labels say whose it is.
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.value.competition].private
  params      = try(var.params[each.value.competition], {})
  labels      = { agent = each.value.agent, seed = each.value.seed }
}

step "aggregate" "board" {
  reports  = values(step.grade.score)[*].report
  group_by = "complexity"
  compare  = length(local.agents) > 1 ? local.agents : null
  attempts = var.usage ? values(step.agent-run.solve) : null
  title    = "Development set"
}

output "leaderboard" {
  value       = step.aggregate.board.table
  description = "Scores as mean and standard error over seeds; medals against the competition's human leaderboard."
}
