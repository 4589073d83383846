metric  = "jaccard_words"
id      = "textID"
targets = ["selected_text"]
params  = { both_empty = "refuse" }
cells   = "filled_text"
rounding = "python"
require {
  columns   = ["textID", "selected_text"]
  same_rows = true
  same_ids  = true
}
