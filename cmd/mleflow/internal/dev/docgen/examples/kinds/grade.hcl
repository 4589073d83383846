step "grade" "score" {
  for_each    = toset(local.ids)
  competition = each.key
  version     = "v1"
  submission  = step.agent-run.solve[each.key].submission
  file        = "submission.csv"
  snapshots   = step.agent-run.solve[each.key].snapshots
  answers     = step.checksum.data[each.key].private
  labels      = { agent = "baseline", seed = 0 }
  params      = {}
}
