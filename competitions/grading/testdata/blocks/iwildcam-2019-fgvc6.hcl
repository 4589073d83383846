metric  = "f1"
id      = "Id"
targets = ["Category"]
params  = { average = "macro" }
cells   = "int"
require {
  same_rows = true
  columns   = ["Category", "Id"]
  same_ids  = true
}
