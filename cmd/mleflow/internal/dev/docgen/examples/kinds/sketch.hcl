step "sketch" "data" {
  for_each    = toset(local.ids)
  competition = each.key
  version     = "v1"
  prepared    = step.checksum.data[each.key]
  params      = {}
}
