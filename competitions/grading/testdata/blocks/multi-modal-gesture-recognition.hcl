metric  = "sequence_error_rate"
id      = "Id"
targets = ["Sequence"]
cells   = "text"
require {
  same_rows = true
  columns   = ["Id", "Sequence"]
  same_ids  = true
}
