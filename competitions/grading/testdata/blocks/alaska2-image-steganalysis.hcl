metric  = "weighted_auc"
id      = "Id"
targets = ["Label"]
require {
  same_rows  = true
  columns    = ["Id", "Label"]
  same_ids   = true
  numeric    = true
  no_missing = true
}
