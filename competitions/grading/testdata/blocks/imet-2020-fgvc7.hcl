metric  = "multilabel_f1"
id      = "id"
targets = ["attribute_ids"]
cells   = "filled"
require {
  columns   = ["id", "attribute_ids"]
  same_rows = true
  same_ids  = true
}
