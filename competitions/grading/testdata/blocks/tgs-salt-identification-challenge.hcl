metric  = "mask_precision"
params  = { pixels = 10201 }
id      = "id"
targets = ["rle_mask"]
cells   = "filled"
require {
  exact_columns = true
  same_rows     = true
  text          = ["id"]
  same_ids      = true
}
