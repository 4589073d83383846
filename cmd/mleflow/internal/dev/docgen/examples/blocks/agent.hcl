agent "mine" {
  for_each = { patient = 20, hasty = 2 }
  command  = ["python3", "agent.py"]
  args     = ["--steps", each.value]
  files    = { "agent.py" = "agent.py" }
  models   = [model.main["large"], model.own]
  env      = { LOG = "debug" }
  secrets  = { API_KEY = "file:keys/api" }
  python {
    requirements = "requirements.txt"
    version      = "3.11"
  }
}
agent "swept" {
  matrix  = { lr = [0.1, 0.01], depth = [3, 5] }
  command = ["python3", "agent.py", each.value.lr, each.value.depth]
  files   = { "agent.py" = "agent.py" }
  image   = step.image.base.image
}
agent "editor" {
  acp = ["opencode", "acp"]
}
agent "ready" {
  command = ["python3", "-m", "agent"]
  python { environment = step.python.tools.environment }
}
agent "local" {
  command = ["python3", "-m", "agent"]
  python { venv = "/opt/agent" }
}
