metric  = "dice"
params  = { over = "all", empty = "-", height = "height", width = "width" }
id      = "record_id"
targets = ["encoded_pixels"]
require {
  columns   = ["record_id", "encoded_pixels"]
  same_rows = true
  same_ids  = true
}
