# A first pipeline: two agents on a small competition, three seeds each.
#
#   mleflow plan  this file   says what would run, and why
#   mleflow apply this file   runs it; a second time it runs nothing

mleflow {
  required_version = ">= 0.1"
}
