step "task" "texts" {
  for_each    = toset(local.ids)
  competition = each.key
  task        = "own"
  from        = "mle-bench"
}
