metric  = "mae"
id      = "id"
targets = ["pressure"]
only    = { column = "u_out", equals = 0 }
require {
  columns   = ["id", "pressure"]
  same_rows = true
  same_ids  = true
}
