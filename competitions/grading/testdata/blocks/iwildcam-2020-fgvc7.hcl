metric  = "accuracy"
id      = "Id"
targets = ["Category"]
require {
  same_rows = true
  columns   = ["Category", "Id"]
  same_ids  = true
}
