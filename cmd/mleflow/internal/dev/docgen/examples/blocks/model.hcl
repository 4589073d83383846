model "main" {
  for_each = { small = "gpt-5.4-nano", large = "gpt-5.5" }
  provider = "openai"
  key      = "env:OPENAI_API_KEY"
  models   = [each.value, "text-embedding-*"]
  tools    = ["web_search"]
  budget {
    cost                   = "20 USD"
    tokens                 = 5000000
    requests               = 2000
    per_minute             = 60
    concurrent             = 8
    tool_calls_per_request = 5
  }
  run_budget {
    cost                   = "500 USD"
    tokens                 = 200000000
    requests               = 50000
    per_minute             = 600
    concurrent             = 64
  }
  price "text-embedding-*" {
    input            = "0.13 USD"
    output           = "0 USD"
    cache_read       = "0.13 USD"
    cache_write      = "0.13 USD"
    cache_write_hour = "0.13 USD"
    input_audio      = "0.13 USD"
    max_output       = 8192
    max_input        = 8192
    tool_calls       = { web_search = "10 USD" }
    tool_requests    = { web_search = "35 USD" }
  }
  retry {
    attempts = 4
    longest  = "60s"
  }
  pause_clock = true
}
model "own" {
  provider      = "openai"
  base_url      = "http://10.0.0.5:8000/v1"
  models        = ["qwen3"]
  prices        = { qwen3 = { input = "0 USD", output = "0 USD" } }
  record_tokens = "vllm"
}
model "replayed" {
  provider = "openai"
  key      = "env:OPENAI_API_KEY"
  models   = ["gpt-5.5"]
  replay   = step.agent-run.solve["demo-digits"].transcript
  on_miss  = "live"
}
