metric  = "multilabel_f1"
id      = "image"
targets = ["labels"]
cells   = "filled"
require {
  columns   = ["image", "labels"]
  same_rows = true
  same_ids  = true
}
