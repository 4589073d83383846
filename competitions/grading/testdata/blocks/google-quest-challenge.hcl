metric  = "spearman"
id      = "qa_id"
targets = local.classes
require {
  columns      = concat(["qa_id"], local.classes)
  column_count = true
  same_rows    = true
}
