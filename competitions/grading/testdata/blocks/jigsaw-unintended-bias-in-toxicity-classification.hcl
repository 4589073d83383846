metric  = "bias_auc"
params  = { identities = ["male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white", "psychiatric_or_mental_illness"] }
id      = "id"
rename  = { toxicity = "prediction" }
targets = ["prediction"]
truth   = ["toxicity"]
require {
  columns  = ["id", "prediction"]
  same_ids = true
}
