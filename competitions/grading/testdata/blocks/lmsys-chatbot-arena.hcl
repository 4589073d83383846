metric  = "log_loss"
id      = "id"
targets = ["winner_model_a", "winner_model_b", "winner_tie"]
require {
  columns     = ["id", "winner_model_a", "winner_model_b", "winner_tie"]
  same_rows   = true
  between     = [0, 1]
  rows_sum_to = { value = 1, decimals = 6 }
  same_ids    = true
}
