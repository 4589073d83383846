metric  = "weighted_log_loss"
params  = { levels = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"], heavy = "patient_overall", weight = 7 }
id      = "row_id"
targets = ["fractured"]
require {
  columns  = ["row_id", "fractured"]
  between  = [0, 1]
  same_ids = true
}
