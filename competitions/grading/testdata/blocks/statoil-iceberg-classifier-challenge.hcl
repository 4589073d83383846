metric  = "log_loss"
id      = "id"
targets = ["is_iceberg"]
require {
  columns     = ["id", "is_iceberg"]
  same_id_set = true
  between     = [0, 1]
}
