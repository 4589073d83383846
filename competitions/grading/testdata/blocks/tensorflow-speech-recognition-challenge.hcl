metric  = "accuracy"
id      = "fname"
targets = ["label"]
require {
  same_rows = true
  columns   = ["label", "fname"]
  same_ids  = true
}
