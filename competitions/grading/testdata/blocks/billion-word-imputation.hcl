metric  = "levenshtein"
id      = "id"
targets = ["sentence"]
require {
  columns   = ["id", "sentence"]
  same_rows = true
  same_ids  = true
}
