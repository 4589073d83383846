benchmark "mine" {
  competitions = competitions("low")
  aggregate    = "normalised_score"
  sample       = { for id in competitions("low") : id => 0 }
  best         = { for id in competitions("low") : id => 1 }
}
