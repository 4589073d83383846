# Two agents over two demonstrations, ranked by a benchmark.
benchmark "demos" {
  competitions = competitions("demo")
  aggregate    = "elo"
}
locals {
  runs = { for r in setproduct(["baseline", "dummy"], benchmark.demos.competitions) : join("/", r) => { agent = r[0], id = r[1] } }
}
step "download" "raw" {
  for_each    = benchmark.demos.competitions
  competition = each.key
}
step "prepare" "data" {
  for_each    = benchmark.demos.competitions
  competition = each.key
  raw         = step.download.raw[each.key].tree
}
agent "baseline" { command = ["mleflow", "agent", "baseline"] }
agent "dummy" { command = ["mleflow", "agent", "dummy"] }
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent[each.value.agent]
  competition = each.value.id
  data        = step.prepare.data[each.value.id].public
  runtime     = "process"
}
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.id
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.prepare.data[each.value.id].private
  labels      = { agent = each.value.agent }
}
step "aggregate" "board" {
  benchmark = benchmark.demos
  reports   = values(step.grade.score)[*].report
}
step "aggregate" "medals" {
  reports = values(step.grade.score)[*].report
}
