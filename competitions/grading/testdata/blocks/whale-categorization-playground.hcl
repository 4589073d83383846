metric  = "map_at_k"
id      = "Image"
targets = ["Id"]
params  = { k = 5 }
cells   = "text"
require {
  exact_columns = true
  same_rows     = true
  same_id_set   = true
}
