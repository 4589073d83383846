step "draw" "small" {
  competition = "demo-digits"
  version     = "v1"
  prepared    = step.checksum.data["demo-digits"]
  ids         = 50
  seed        = 1
  of          = "test"
}
