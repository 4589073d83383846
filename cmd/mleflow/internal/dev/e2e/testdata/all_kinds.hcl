# Every step kind, two competitions, two agents, so that there is always
# something in flight to be killed.
locals {
  ids    = competitions("demo")
  agents = { dummy = agent.dummy, baseline = agent.baseline }
  # The model is trained on the smaller table only, to keep the test short.
  runs = {
    "dummy/demo-cancer"    = { agent = "dummy", id = "demo-cancer" }
    "dummy/demo-digits"    = { agent = "dummy", id = "demo-digits" }
    "baseline/demo-cancer" = { agent = "baseline", id = "demo-cancer" }
  }
}

agent "dummy" { command = ["mleflow", "agent", "dummy"] }
agent "baseline" { command = ["mleflow", "agent", "baseline"] }

step "download" "raw" {
  for_each    = local.ids
  competition = each.key
}
step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].tree
}
step "checksum" "data" {
  for_each    = local.ids
  competition = each.key
  prepared    = step.prepare.data[each.key]
}
step "exec" "count" {
  for_each = local.ids
  command  = ["sh", "-c", "ls inputs/data | wc -l > count; sleep 0.05"]
  inputs   = { data = step.checksum.data[each.key].public }
  outputs  = ["count"]
}
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = local.agents[each.value.agent]
  competition = each.value.id
  seed        = 1
  data        = step.checksum.data[each.value.id].public
  timeout     = "2m"
}
step "grade" "score" {
  for_each    = local.runs
  competition = each.value.id
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.value.id].private
}
step "aggregate" "board" {
  reports = values(step.grade.score)[*].report
}
output "board" { value = step.aggregate.board.table }
output "counts" { value = values(step.exec.count)[*].tree }
output "scores" { value = values(step.grade.score)[*].report }
output "submissions" { value = values(step.agent-run.solve)[*].submission }
