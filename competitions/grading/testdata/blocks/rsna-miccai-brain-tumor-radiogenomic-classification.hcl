metric  = "roc_auc"
id      = "BraTS21ID"
targets = ["MGMT_value"]
require {
  columns   = ["BraTS21ID", "MGMT_value"]
  same_rows = true
  numeric   = true
  between   = { min = 0, max = 1, missing = "skip" }
  same_ids  = true
}
