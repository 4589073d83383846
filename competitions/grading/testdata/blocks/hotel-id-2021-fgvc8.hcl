metric  = "map_at_k"
id      = "image"
targets = ["hotel_id"]
params  = { k = 5 }
cells   = "text"
require {
  columns     = ["image", "hotel_id"]
  same_id_set = true
  same_rows   = true
}
