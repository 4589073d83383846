competition "detecting-insults-in-social-commentary" {
  title        = "Detecting Insults in Social Commentary"
  category     = "text-classification"
  complexity   = "low"
  opened       = "2012-09-18"
  closed       = "2012-09-21"
  size_gb      = 0.002
  metric_name  = "auc-roc"
  sample_score = 0.5
  gold         = "private/gold_submission.csv"
  sample       = "public/sample_submission_null.csv"

  description = <<-EOT
    Predict whether a comment in an online conversation insults another participant. A submission repeats date and
    comment and gives the probability of an insult; the score is the area under the ROC curve.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      gold = select(csv("test_with_solutions.csv"), "Insult", "Date", "Comment")
    }
    public {
      copy "train.csv" {}
      table "test.csv" { rows = drop(gold, "Insult") }
      table "sample_submission_null.csv" { rows = fill(gold, ["Insult"], 0) }
    }
    private {
      copy "test.csv" { from = "test_with_solutions.csv" }
      table "gold_submission.csv" { rows = gold }
    }
  }

  validation {
    note = "The competition's test is another file; a tenth of the training comments are held out."
    prepare {
      locals {
        parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
        gold  = select(parts.test, "Insult", "Date", "Comment")
      }
      public {
        table "train.csv" { rows = parts.train }
        table "test.csv" { rows = drop(gold, "Insult") }
        table "sample_submission_null.csv" { rows = fill(gold, ["Insult"], 0) }
      }
      private {
        table "test.csv" { rows = gold }
        table "gold_submission.csv" { rows = gold }
      }
    }
  }

  mask {
    refuse = "A comment has no id: submissions name it by its own text."
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
}
