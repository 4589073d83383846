metric  = "coco_ap"
id      = "image_id"
targets = ["PredictionString"]
align   = "position"
require {
  columns     = ["PredictionString", "image_id"]
  same_id_set = true
}
