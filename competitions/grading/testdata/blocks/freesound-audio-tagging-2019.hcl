metric  = "lwlrap"
id      = "fname"
targets = local.classes
require {
  same_rows    = true
  column_order = true
  same_ids     = true
  numeric      = true
}
