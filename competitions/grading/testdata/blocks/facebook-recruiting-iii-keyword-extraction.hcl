metric  = "multilabel_f1"
id      = "Id"
targets = ["Tags"]
cells   = "filled"
require {
  columns   = ["Id", "Tags"]
  same_rows = true
  same_ids  = true
}
