metric  = "mae"
params  = { whole = true }
id      = "segment_id"
targets = ["time_to_eruption"]
align   = "join"
require {
  columns     = ["time_to_eruption", "segment_id"]
  same_id_set = true
}
