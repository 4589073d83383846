locals {
  ids  = competitions("demo")
  tier = { for id in local.ids : id => competition(id).complexity }
}
