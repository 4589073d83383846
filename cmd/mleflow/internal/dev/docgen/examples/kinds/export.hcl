step "export" "table" {
  format   = "csv"
  reports  = values(step.grade.score)[*].report
  attempts = values(step.agent-run.solve)
  curves   = values(step.grade.score)[*].curve
  table    = "attempts"
  at       = ["1h", "6h"]
}
step "export" "tasks" {
  format   = "harbor"
  prepared = step.checksum.data
  image    = "python:3.12.11-slim-bookworm"
  images   = "registry.example/mle"
  reward   = "rank"
  micro    = 50
  seed     = 1
}
