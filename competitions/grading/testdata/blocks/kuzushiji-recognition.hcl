metric  = "point_in_box_f1"
id      = "image_id"
targets = ["labels"]
require {
  same_rows = true
  columns   = ["image_id", "labels"]
  same_ids  = true
}
