metric  = "rmse"
id      = "id_seqpos"
targets = ["reactivity", "deg_Mg_pH10", "deg_Mg_50C"]
only    = { column = "keep", equals = true, by = "row" }
require {
  same_rows = true
  columns   = ["id_seqpos", "reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
  same_ids  = true
}
