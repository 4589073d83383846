metric  = "accuracy"
id      = "_id"
targets = ["category_id"]
require {
  same_rows = true
  columns   = ["category_id", "_id"]
  same_ids  = true
}
