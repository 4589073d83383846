metric  = "mask_fbeta"
params  = { beta = 0.5, height = "height", width = "width" }
id      = "Id"
targets = ["Predicted"]
align   = "position"
require {
  same_rows     = true
  column_count  = 2
  columns       = ["Id", "Predicted"]
  same_id_order = true
  text          = true
}
