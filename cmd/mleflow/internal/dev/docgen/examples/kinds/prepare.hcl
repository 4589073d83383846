step "prepare" "data" {
  for_each    = toset(local.ids)
  competition = each.key
  version     = "v1"
  raw         = step.download.raw[each.key].tree
  params      = {}
}
step "prepare" "masked" {
  competition = "demo-digits"
  version     = "v1m"
  raw         = step.download.raw["demo-digits"].tree
  salt        = file("mask.salt")
}
