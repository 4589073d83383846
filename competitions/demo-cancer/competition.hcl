competition "demo-cancer" {
  title       = "placeholder"
  complexity  = "demo"
  description = "placeholder"
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  grade {}
  medals { scores = [1, 0.9] }
}
