step "aggregate" "board" {
  reports     = values(step.grade.score)[*].report
  attempts    = values(step.agent-run.solve)
  benchmark   = benchmark.mine
  group_by    = "category"
  pad_missing = true
  version     = "v1"
  labels      = { baseline = "Our baseline" }
  compare     = ["Our baseline", "mine"]
  resamples   = 10000
  title       = "Demo"
}
