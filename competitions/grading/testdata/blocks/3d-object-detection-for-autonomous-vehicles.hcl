metric  = "cuboid_ap"
id      = "Id"
targets = ["PredictionString"]
cells   = "filled"
require {
  same_rows = true
  columns   = ["Id", "PredictionString"]
  same_ids  = true
}
