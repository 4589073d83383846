metric  = "kl_divergence"
id      = "eeg_id"
targets = local.classes
require {
  columns     = concat(["eeg_id"], local.classes)
  same_rows   = true
  rows_sum_to = { value = 1, decimals = 5 }
  same_id_set = true
}
