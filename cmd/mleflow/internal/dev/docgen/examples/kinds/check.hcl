step "check" "rules" {
  for_each    = toset(local.ids)
  competition = each.key
  version     = "v1"
  attempt     = step.agent-run.solve[each.key]
  data        = step.checksum.data[each.key].public
  file        = "submission.csv"
  rules       = []
  judge {
    model     = model.main["large"]
    profile   = "mle-bench"
    questions = file("questions.hcl")
    limit     = "500KiB"
  }
}
