metric  = "jaccard_words"
id      = "id"
targets = ["PredictionString"]
cells   = "filled"
require {
  same_rows = true
  columns   = ["PredictionString", "id"]
  same_ids  = true
}
