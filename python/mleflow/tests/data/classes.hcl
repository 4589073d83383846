# Two agents with different time limits are two classes.
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "checksum" "data" {
  competition = "demo-digits"
  prepared    = step.prepare.data
}
agent "dummy" { command = ["mleflow", "agent", "dummy"] }
agent "baseline" { command = ["mleflow", "agent", "baseline"] }
step "agent-run" "a" {
  agent       = agent.dummy
  competition = "demo-digits"
  data        = step.checksum.data.public
  runtime     = "process"
  timeout     = "1h"
}
step "agent-run" "b" {
  agent       = agent.baseline
  competition = "demo-digits"
  data        = step.checksum.data.public
  runtime     = "process"
  timeout     = "10m"
}
step "grade" "a" {
  competition = "demo-digits"
  submission  = step.agent-run.a.submission
  answers     = step.checksum.data.private
  labels      = { agent = "dummy", seed = 0 }
}
step "grade" "b" {
  competition = "demo-digits"
  submission  = step.agent-run.b.submission
  answers     = step.checksum.data.private
  labels      = { agent = "baseline", seed = 0 }
}
step "aggregate" "board" { reports = [step.grade.a.report, step.grade.b.report] }
output "leaderboard" { value = step.aggregate.board.table }
