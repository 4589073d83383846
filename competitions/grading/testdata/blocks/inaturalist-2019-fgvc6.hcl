metric  = "error_rate"
id      = "id"
targets = ["predicted"]
cells   = "first_int"
require {
  same_rows = true
  columns   = ["id", "predicted"]
  same_ids  = true
}
