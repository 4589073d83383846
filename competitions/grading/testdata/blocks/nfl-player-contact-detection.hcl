metric  = "mcc"
id      = "contact_id"
targets = ["contact"]
require {
  columns     = ["contact_id", "contact"]
  same_id_set = true
  same_rows   = true
}
