metric  = "levenshtein"
id      = "image_id"
targets = ["InChI"]
cells   = "text"
require {
  same_rows = true
  columns   = ["image_id", "InChI"]
  same_ids  = true
}
