# An agent that asks a policy twice and submits the sample, and one that never ends.

model "policy" {
  provider      = "openai"
  base_url      = "http://127.0.0.1:9/v1"
  models        = ["policy-0"]
  record_tokens = "vllm"
  price "*" {
    input  = "0 USD"
    output = "0 USD"
  }
}

agent "mine" {
  command = ["PYTHON", "rollout.py", "PROGRAM"]
  files   = { "rollout.py" = "./rollout.py" }
  models  = [model.policy]
}

agent "idle" {
  command = ["PYTHON", "-c", "import time; time.sleep(3600)"]
  models  = [model.policy]
}
