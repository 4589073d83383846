metric  = "accuracy"
id      = "image_id"
targets = ["label"]
require {
  same_rows = true
  columns   = ["label", "image_id"]
  same_ids  = true
}
