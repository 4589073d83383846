metric  = "kappa"
params  = { weights = "quadratic" }
id      = "essay_id"
targets = ["score"]
require {
  columns   = ["score", "essay_id"]
  not_empty = true
  same_ids  = true
}
