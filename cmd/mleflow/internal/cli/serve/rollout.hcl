variable "rollout_competition" { type = string }
variable "rollout_seed" { type = number }
variable "rollout_data" { type = string }
variable "rollout_micro" { type = number }
variable "rollout_micro_seed" { type = number }
variable "rollout_model" { type = string }
variable "rollout_model_name" { type = string }
variable "rollout_base_url" { type = string }
variable "rollout_time" { type = string }
variable "rollout_turns" { type = number }
variable "rollout_tokens" { type = number }
variable "rollout_cost" { type = string }
variable "rollout_runtime" { type = string }
variable "rollout_cpus" { type = number }
variable "rollout_memory" { type = string }

locals {
  rollout_models = [for m in local.rollout_agent.models : m.name != var.rollout_model ? m : merge(m, {
    base_url = var.rollout_base_url != "" ? var.rollout_base_url : m.base_url
    models   = var.rollout_model_name != "" ? [var.rollout_model_name] : m.models
    budget = merge(m.budget, {
      requests = var.rollout_turns > 0 ? var.rollout_turns : m.budget.requests
      tokens   = var.rollout_tokens > 0 ? var.rollout_tokens : m.budget.tokens
      cost     = var.rollout_cost != "" ? var.rollout_cost : m.budget.cost
    })
  })]
}

step "download" "rollout" {
  competition = var.rollout_competition
  data        = var.rollout_data
}

step "prepare" "rollout" {
  competition = var.rollout_competition
  raw         = step.download.rollout.tree
}

step "checksum" "rollout" {
  competition = var.rollout_competition
  prepared    = step.prepare.rollout
}

step "agent-run" "rollout" {
  agent       = merge(local.rollout_agent, { models = local.rollout_models })
  competition = var.rollout_competition
  seed        = var.rollout_seed
  data        = local.rollout_data.public
  task        = "own"
  runtime     = var.rollout_runtime
  timeout     = var.rollout_time

  resources {
    cpus   = var.rollout_cpus
    memory = var.rollout_memory
  }
}

step "grade" "rollout" {
  competition = var.rollout_competition
  submission  = step.agent-run.rollout.submission
  answers     = local.rollout_data.private
  labels      = { agent = local.rollout_agent.name, seed = var.rollout_seed }
}
