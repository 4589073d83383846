agent "dummy" {
  command = ["mleflow", "agent", "dummy"]
}
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.dummy
  competition = "demo-cancer"
  seed        = 0
  runtime     = "process"
  data        = step.prepare.data.public
}
step "grade" "score" {
  competition = "demo-cancer"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
  labels      = { agent = "dummy", seed = "0" }
}
step "aggregate" "board" {
  reports = [step.grade.score.report]
}
output "leaderboard" { value = step.aggregate.board.table }
