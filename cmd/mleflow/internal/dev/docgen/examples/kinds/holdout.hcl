step "holdout" "validation" {
  competition = "demo-digits"
  version     = "v1"
  data        = step.checksum.data["demo-digits"].public
  params      = {}
}
