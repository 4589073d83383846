metric  = "dice"
params  = { over = "rows", both_empty = "one", height = "height_pixels", width = "width_pixels" }
id      = "id"
targets = ["predicted"]
truth   = ["encoding"]
cells   = "filled"
require {
  columns     = ["id", "predicted"]
  same_rows   = true
  same_id_set = true
}
