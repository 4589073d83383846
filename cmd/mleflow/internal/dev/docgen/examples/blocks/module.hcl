module "common" {
  source = "./common"
  words  = ["a", "b"] # a variable of the module
}
