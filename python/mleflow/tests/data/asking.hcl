# An agent that asks a model once and submits the sample, and one that sleeps.

variable "python" { default = "python3" }
variable "mode" { default = "ask" }
variable "base_url" {
  type    = string
  default = null
}

model "main" {
  provider = "openai"
  base_url = var.base_url
  key      = "env:OPENAI_API_KEY"
  models   = ["gpt-4o-2024-08-06"]
  budget {
    requests = 5
  }
}

agent "mine" {
  command = [var.python, "agent.py", var.mode]
  files   = { "agent.py" = "./agent.py" }
  models  = [model.main]
}

step "download" "raw" { competition = "demo-digits" }

step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}

step "checksum" "data" {
  competition = "demo-digits"
  prepared    = step.prepare.data
}

step "agent-run" "solve" {
  agent       = agent.mine
  competition = "demo-digits"
  seed        = 0
  data        = step.checksum.data.public
  timeout     = "5m"
  runtime     = "process"
}
