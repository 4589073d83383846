metric  = "detection_ap"
id      = "id"
targets = ["PredictionString"]
require {
  same_rows = true
  columns   = ["id", "PredictionString"]
  same_ids  = true
}
