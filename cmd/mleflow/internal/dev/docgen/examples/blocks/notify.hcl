notify "team" {
  on = ["failed", "budget 80%"]
}
