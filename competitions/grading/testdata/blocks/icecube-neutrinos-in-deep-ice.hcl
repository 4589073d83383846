metric  = "angular_error"
id      = "event_id"
targets = ["azimuth", "zenith"]
require {
  exact_columns = true
  number_type   = true
  finite        = true
  same_rows     = true
  same_id_set   = true
}
