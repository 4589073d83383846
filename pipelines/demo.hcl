# The demonstration: two agents, two small competitions, three seeds each, from
# the raw data to a leaderboard.
#
#   mleflow plan  pipelines/demo.hcl     what would run, and why
#   mleflow apply pipelines/demo.hcl     runs it; the second time, everything is cached
#
# Try what a change does: another seed runs only its own attempts and grades, and
# another agent does not prepare the data again.
#
#   mleflow apply pipelines/demo.hcl -var seeds=4

mleflow {
  required_version   = ">= 0.1"
  required_isolation = var.required_isolation
}

variable "seeds" {
  type        = number
  default     = 3
  description = "Number of attempts per agent and competition, each with its own seed."
}

variable "runtime" {
  type        = string
  default     = "auto"
  description = "What runs the agents: auto is the strongest that this machine has, containerd (which needs root), else sandbox, else docker, else process, which does not isolate and whose results are marked untrusted."
}

variable "required_isolation" {
  type        = string
  default     = "none"
  description = "The least isolation of the attempts: none, sandbox or container. Where the machine has less, the plan is refused."
}

locals {
  ids    = competitions("demo")
  agents = { dummy = agent.dummy, baseline = agent.baseline }

  # One entry for every attempt. Its key becomes part of the step's address:
  # step.agent-run.solve["baseline/demo-digits/0"].
  runs = {
    for run in setproduct(keys(local.agents), local.ids, range(var.seeds)) :
    "${run[0]}/${run[1]}/${run[2]}" => { agent = run[0], competition = run[1], seed = run[2] }
  }
}

# Agents are commands. "mleflow" stands for this program, which includes two.
agent "dummy" {
  command = ["mleflow", "agent", "dummy"] # submits the sample submission
}

agent "baseline" {
  command = ["mleflow", "agent", "baseline"] # trains a small neural network
}

# The raw data ship with the program. The competition says where they are and
# what their digests must be.
step "download" "raw" {
  for_each    = local.ids
  competition = each.key
}

# Splits them into public files, which agents see, and private ones with the
# answers. References to the outputs of other steps decide the order.
step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].tree
}

# Fails unless the data match the competition's pins.
step "checksum" "data" {
  for_each    = local.ids
  competition = each.key
  prepared    = step.prepare.data[each.key]
}

# An agent may refer only to public outputs. With private here instead of public,
# mleflow would refuse the file before anything runs.
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = local.agents[each.value.agent]
  competition = each.value.competition
  seed        = each.value.seed
  data        = step.checksum.data[each.value.competition].public
  task        = "own" # the demonstration competitions have no "reference" task
  runtime     = var.runtime
  timeout     = "5m"

  resources {
    cpus   = 1
    memory = "1GiB"
  }
}

# Grades each submission. The labels say whose it is.
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.value.competition].private
  labels      = { agent = each.value.agent, seed = each.value.seed }
}

step "aggregate" "board" {
  reports  = values(step.grade.score)[*].report
  group_by = "complexity"
}

output "leaderboard" {
  value       = step.aggregate.board.table
  description = "Mean score and standard error over seeds; medals against a human-like list of scores."
}
