metric  = "map_at_k"
id      = "customer_id"
targets = ["prediction"]
params  = { k = 12 }
cells   = "text"
align   = "overlap"
require {
  exact_columns = true
  all_ids       = true
}
