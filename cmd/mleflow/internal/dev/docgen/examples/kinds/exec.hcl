step "exec" "tool" {
  command         = ["sh", "-c", "python3 make.py < /dev/stdin > tool.whl"]
  files           = { "make.py" = file("make.py") }
  inputs          = { words = file("words.txt") }
  writable_inputs = true
  stdin           = file("words.txt")
  env             = { LANG = "C" }
  outputs         = ["tool.whl"]
  python { requirements = "requirements.txt" }
}
