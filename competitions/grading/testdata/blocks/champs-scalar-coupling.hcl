metric  = "log_mae"
params  = { group = "type" }
id      = "id"
targets = ["scalar_coupling_constant"]
align   = "join"
require {
  columns     = ["scalar_coupling_constant", "id"]
  same_id_set = true
}
