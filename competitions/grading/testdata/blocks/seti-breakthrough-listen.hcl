metric  = "roc_auc"
id      = "id"
targets = ["target"]
require {
  columns   = ["id", "target"]
  same_rows = true
  numeric   = true
  between   = { min = 0, max = 1, missing = "skip" }
  same_ids  = true
}
