metric  = "probabilistic_f1"
id      = "prediction_id"
targets = ["cancer"]
require {
  columns   = ["prediction_id", "cancer"]
  same_rows = true
  same_ids  = true
}
