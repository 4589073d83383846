step "checksum" "data" {
  for_each     = toset(local.ids)
  competition  = each.key
  version      = "v1"
  prepared     = step.prepare.data[each.key]
  on_mismatch  = "warn"
  expected_dir = "right/${each.key}"
}
step "checksum" "same" {
  competition = "demo-digits"
  prepared    = step.prepare.data["demo-digits"]
  expected    = step.checksum.data["demo-digits"]
}
