metric  = "f1"
id      = "Id"
targets = ["Predicted"]
params  = { average = "macro" }
cells   = "int"
require {
  same_rows = true
  columns   = ["Predicted", "Id"]
  same_ids  = true
}
