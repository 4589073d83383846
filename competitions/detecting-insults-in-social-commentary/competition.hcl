competition "detecting-insults-in-social-commentary" {
  title        = "Detecting Insults in Social Commentary"
  category     = "text-classification"
  complexity   = "low"
  kind         = "simple"
  opened       = "2012-09-18"
  closed       = "2012-09-21"
  size_gb      = 0.002
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  gold         = "private/gold_submission.csv"
  sample       = "public/sample_submission_null.csv"

  description = <<-EOT
    Tell whether a comment in an online conversation insults another participant. A submission repeats date and comment
    and gives the probability of an insult; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "detecting-insults-in-social-commentary"
    md5  = "719b313286d397ddc6d8e454135249de"
  }

  reference {
    sha256            = "63773cd45967ba5e3b8fb78ba79ec071618e87e6e3f1752971e3c7a17913ffe5"
    obfuscated_sha256 = "217ae836598fa01ade8576045bcbe02e9e834a7713db07f9aeedd5955f2e99ef"
  }

  prepare {
    locals {
      gold = select(csv("test_with_solutions.csv"), "Insult", "Date", "Comment")
    }
    public {
      copy "train.csv" { from = "train.csv" }
      table "test.csv" { rows = drop(gold, "Insult") }
      table "sample_submission_null.csv" { rows = fill(gold, ["Insult"], 0) }
    }
    private {
      copy "test.csv" { from = "test_with_solutions.csv" }
      table "gold_submission.csv" { rows = gold }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "Comment"
    targets = ["Insult"]
    require {
      columns   = ["Comment", "Insult"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission_null.csv" = "a0dcbebb9f3aa642325ec3b83dacafa1"
      "test.csv"                   = "6dd3e4189309b7b513fcf124be21c790"
      "train.csv"                  = "60f8ff55967759d144efd4f055f37673"
    }
    private = {
      "gold_submission.csv" = "937dc9172f07ab3f72f123c79e37652c"
      "test.csv"            = "76d6e15e475a2fd634bdd8cdfb4746c0"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
