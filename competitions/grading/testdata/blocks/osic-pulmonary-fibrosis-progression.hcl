metric  = "laplace_log_likelihood"
params  = { confidence = "Confidence", group = "Patient", last = 3 }
id      = "Patient_Week"
targets = ["FVC"]
align   = "position"
require {
  columns              = ["Patient_Week", "FVC", "Confidence"]
  known_ids            = true
  number_or_truth_type = ["FVC", "Confidence"]
}
