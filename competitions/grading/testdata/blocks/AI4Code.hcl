metric  = "kendall_tau"
id      = "id"
targets = ["cell_order"]
cells   = "text"
require {
  same_rows   = true
  columns     = ["id", "cell_order"]
  same_id_set = true
}
