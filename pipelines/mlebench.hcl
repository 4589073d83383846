# MLE-bench's pipeline, from the raw data to a leaderboard: the one text of
# lite.hcl, medium.hcl, high.hcl, full.hcl and dev.hcl, which extend it and set
# variables.
#
#   mleflow plan  pipelines/lite.hcl                      what would run, and why
#   mleflow apply pipelines/lite.hcl                      downloads the data from Kaggle, or says how to get them
#   mleflow apply pipelines/lite.hcl -var raw=downloads   takes downloads/<id>/, or downloads/<id>.zip
#   mleflow apply pipelines/lite.hcl --adopt DIR          takes what a data directory of MLE-bench has
#   mleflow apply pipelines/lite.hcl --mirror DIR         takes DIR/<id>.zip and, of a checkout of MLE-bench, the texts
#   mleflow apply pipelines/lite.hcl -var data=rehearsal  takes tiny synthetic data instead: no account, no download
#   mleflow plan  pipelines/lite.hcl --preflight          asks Kaggle: credential, rules, size, disk
#
# A competition that fails need not stop the others, and a single step can be
# run with everything it depends on:
#
#   mleflow apply pipelines/lite.hcl --keep-going
#   mleflow apply pipelines/lite.hcl -target 'step.grade.score["dummy/leaf-classification/0"]'
#
# To evaluate an agent of your own, write a file beside this one:
#
#   mleflow { extends = "mlebench.hcl" }
#   variable "set" { default = "low" }
#   variable "agent" { default = "mine" }
#   agent "mine" { command = ["python3", "agent.py"] }

mleflow {
  required_version   = ">= 0.1"
  required_isolation = var.required_isolation
  include            = ["agents/*.hcl"]
}

variable "set" {
  type        = string
  default     = "all"
  description = "Which competitions: a set, such as low, medium, high, all or dev, or one competition."
}

variable "benchmark" {
  type        = string
  default     = null
  description = "Name of a benchmark block, whose competitions and rule are used in place of a set and its medals."
}

variable "title" {
  type        = string
  default     = "MLE-bench"
  description = "Title of the leaderboard."
}

variable "agent" {
  type        = string
  default     = "dummy"
  description = "Name of the agent block to evaluate; that of a sweep stands for all of its agents."
}

variable "against" {
  type        = list(string)
  default     = []
  description = "Names of other agent blocks to evaluate and compare it with."
}

variable "task" {
  type        = string
  default     = null
  description = "The texts of the agent's task: reference (MLE-bench's, byte for byte; the default, except in a rehearsal), obfuscated (MLE-bench's variant, which names neither Kaggle nor the competition) or own (our short text, which needs no network and is the default of a rehearsal; its scores cannot be compared with published ones)."
}

variable "seeds" {
  type        = number
  default     = 3
  description = "Number of attempts per competition, each with its own seed."
}

variable "runtime" {
  type        = string
  default     = "auto"
  description = "What runs the agent: auto is the strongest that this machine has, containerd (which needs root), else sandbox, else process, which does not isolate and whose results are marked untrusted."
}

variable "required_isolation" {
  type        = string
  default     = "none"
  description = "The least isolation of the attempts: none, sandbox or container. Where the machine has less, the plan is refused."
}

variable "timeout" {
  type        = string
  default     = "24h"
  description = "Time limit per attempt. What has been submitted by then is graded."
}

variable "snapshot_every" {
  type        = string
  default     = null
  description = "How often to keep a copy of each attempt's submission, such as 10m, to be scored as well; null keeps none."
}

variable "shim" {
  type        = bool
  default     = null
  description = "Whether agents find a package mlebench, which grades nothing and records who asks; null is for the shipped agents that import it."
}

variable "checks" {
  type        = bool
  default     = false
  description = "Whether to look through each attempt for what its readers should see, such as copied samples or downloads of labelled data. Scores do not depend on it."
}

variable "command" {
  type        = list(string)
  default     = ["python3", "agent.py"]
  description = "Command of the agent own, for a program of yours that needs no agent block."
}

variable "files" {
  type        = map(string)
  default     = { "agent.py" = "agent.py" }
  description = "Files and folders that the agent own gets, by their names there."
}

variable "requirements" {
  type        = string
  default     = null
  description = "Python packages of the agent own: a requirements.txt or pyproject.toml, installed once and locked beside it."
}

variable "cpus" {
  type        = number
  default     = 2
  description = "CPUs per attempt. As many attempts run at the same time as fit on the machine."
}

variable "memory" {
  type        = string
  default     = "4GiB"
  description = "Memory per attempt."
}

variable "gpus" {
  type        = number
  default     = 0
  description = "GPUs per attempt. No two attempts share a GPU."
}

variable "budgets" {
  type        = map(map(string))
  default     = {}
  description = "Limits of an attempt by complexity (low, medium, high) or by competition, which counts before its complexity: timeout, cpus, memory and gpus in place of the variables of these names, and cost in place of the cost in the budget of the agent's model blocks. Such as { high = { timeout = \"48h\", gpus = 1, cost = \"50 USD\" } }."
  validation {
    condition     = alltrue([for tier in keys(var.budgets) : can(competitions(tier))])
    error_message = "Budgets are by complexity (low, medium, high, dev, demo) or by competition, not by ${join(" and ", [for tier in keys(var.budgets) : tier if !can(competitions(tier))])}."
  }
  validation {
    condition     = alltrue([for limit in flatten([for b in values(var.budgets) : keys(b)]) : contains(["timeout", "cpus", "memory", "gpus", "cost"], limit)])
    error_message = "A budget has timeout, cpus, memory, gpus and cost, not ${join(" and ", [for limit in distinct(flatten([for b in values(var.budgets) : keys(b)])) : limit if !contains(["timeout", "cpus", "memory", "gpus", "cost"], limit)])}."
  }
}

variable "usage" {
  type        = bool
  default     = false
  description = "Whether the leaderboard shows the time, tokens and cost of the attempts. It then differs each time they run."
}

variable "data" {
  type        = string
  default     = "real"
  description = "The competitions' data: real, or rehearsal: tiny synthetic ones that ship with mleflow, to try everything else. A rehearsal gives no medals, and its results say that they are of one."
}

variable "raw" {
  type        = string
  default     = null
  description = "Folder that has, for each competition, a folder <id> (the unpacked download) or an archive <id>.zip; null downloads the data from Kaggle."
}

variable "params" {
  type        = map(map(string))
  default     = {}
  description = "Parameters of competitions, by competition and name. The pins apply to the default values."
}

variable "pins" {
  type        = map(string)
  default     = { icecube-neutrinos-in-deep-ice = "v2" }
  description = "Competitions whose data are checked against the pins of a version other than v1. icecube's v1 checksums depend on the release of the library that wrote the reference's Parquet files; v2 has the same data, whose Parquet files are not pinned yet: the checksum step reports their digests."
}

variable "on_mismatch" {
  type        = string
  default     = "fail"
  description = "What happens if prepared data do not match the competition's pins: fail, or warn (to try other data)."
}

locals {
  ids    = var.benchmark == null ? competitions(var.set) : benchmark[var.benchmark].competitions
  agents = distinct(concat([var.agent], var.against))

  # The agents of each block by name: one, or all of a sweep.
  chosen  = [for name in local.agents : agents(agent[name])]
  names   = flatten([for block in local.chosen : keys(block)])
  by_name = agents(local.chosen)

  # The limits of the attempts at each competition.
  budget = { for id in local.ids : id => merge(
    { timeout = var.timeout, cpus = var.cpus, memory = var.memory, gpus = var.gpus },
    try(var.budgets[competition(id).complexity], {}),
    try(var.budgets[id], {}),
  ) }

  # One entry for every attempt. Its key becomes part of the step's address:
  # step.agent-run.solve["dummy/leaf-classification/0"].
  runs = {
    for run in setproduct(local.names, local.ids, range(var.seeds)) :
    "${run[0]}/${run[1]}/${run[2]}" => { agent = run[0], competition = run[1], seed = run[2] }
  }
}

# Choose one with -var agent=NAME; add -var 'against=["baseline"]' to compare it.
# If its command changes, its attempts run again; the data stay as they are.
agent "dummy" {
  command = ["mleflow", "agent", "dummy"] # submits the sample submission
}

agent "baseline" {
  command = ["mleflow", "agent", "baseline"] # trains a small neural network on tables
}

# A program of yours, by variables alone:
#
#   mleflow apply lite.hcl -var agent=own -var requirements=requirements.txt
agent "own" {
  command = contains(local.agents, "own") ? var.command : ["true"]
  files   = contains(local.agents, "own") ? var.files : {}
  python { environment = try(step.python.own["packages"].environment, null) }
}

step "python" "own" {
  for_each     = var.requirements == null ? [] : ["packages"]
  requirements = file(var.requirements)
  lock         = try(file(regexreplace(var.requirements, "[^/]*$", "uv.lock")), file(regexreplace(var.requirements, "[.][^./]*$", ".lock")), null)
}

# A local folder and Kaggle give the same data, and so the same result: the key of
# the next step depends on what the files contain, not on where they came from.
step "download" "raw" {
  for_each    = local.ids
  competition = each.key
  from        = var.raw == null ? null : "${var.raw}/${each.key}"
  data        = var.data
}

# Splits them into public files, which agents see, and private ones with the
# answers.
step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].tree
  params      = try(var.params[each.key], {})
}

# Fails unless the data match the competition's pins: a score on other data means
# nothing.
step "checksum" "data" {
  for_each    = local.ids
  competition = each.key
  version     = try(var.pins[each.key], "v1")
  prepared    = step.prepare.data[each.key]
  on_mismatch = var.on_mismatch
}

# The ids of the answers and the rows that are scored, without a label. The validity
# server knows them and gives the grader's verdicts; the agent cannot read them.
step "sketch" "data" {
  for_each    = local.ids
  competition = each.key
  prepared    = step.checksum.data[each.key]
  params      = try(var.params[each.key], {})
}

# The agent sees only the public files and has no network. The texts of its task are
# fetched before, by the steps task.solve: from --adopt, --mirror or the network.
step "agent-run" "solve" {
  for_each    = local.runs
  agent = merge(local.by_name[each.value.agent], { models = [
    for m in local.by_name[each.value.agent].models :
    merge(m, { budget = merge(m.budget, { cost = try(local.budget[each.value.competition].cost, m.budget.cost) }) })
  ] })
  competition = each.value.competition
  seed        = each.value.seed
  data        = step.checksum.data[each.value.competition].public
  sketch      = step.sketch.data[each.value.competition].sketch
  task        = coalesce(var.task, var.data == "rehearsal" ? "own" : "reference")
  runtime     = var.runtime
  timeout     = local.budget[each.value.competition].timeout
  shim        = coalesce(var.shim, contains(local.shimmed, each.value.agent))

  snapshot_every = var.snapshot_every

  resources {
    cpus   = local.budget[each.value.competition].cpus
    memory = local.budget[each.value.competition].memory
    gpus   = local.budget[each.value.competition].gpus
  }
}

# Grades each submission. The labels say whose it is.
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  submission  = step.agent-run.solve[each.key].submission
  snapshots   = var.snapshot_every == null ? null : step.agent-run.solve[each.key].snapshots
  answers     = step.checksum.data[each.value.competition].private
  params      = try(var.params[each.value.competition], {})
  labels      = { agent = each.value.agent, seed = each.value.seed }
}

# Its findings are in the step's log and on the attempt's page.
step "check" "rules" {
  for_each    = { for key, run in local.runs : key => run if var.checks }
  competition = each.value.competition
  attempt     = step.agent-run.solve[each.key]
  data        = step.checksum.data[each.value.competition].public
}

step "aggregate" "board" {
  reports   = values(step.grade.score)[*].report
  benchmark = var.benchmark == null ? null : benchmark[var.benchmark]
  group_by  = "complexity"
  compare   = length(local.agents) > 1 ? local.names : null
  attempts  = var.usage ? values(step.agent-run.solve) : null
  title     = var.title
}

output "leaderboard" {
  value       = step.aggregate.board.table
  description = "Mean score and standard error over seeds; medals against the competition's human leaderboard."
}
