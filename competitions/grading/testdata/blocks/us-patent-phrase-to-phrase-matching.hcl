metric  = "pearson"
id      = "id"
targets = ["score"]
require {
  same_rows = true
  columns   = ["id", "score"]
  same_ids  = true
}
