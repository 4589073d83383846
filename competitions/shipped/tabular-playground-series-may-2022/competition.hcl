competition "tabular-playground-series-may-2022" {
  title        = "Tabular Playground Series - May 2022"
  category     = "tabular"
  complexity   = "low"
  opened       = "2022-05-01"
  closed       = "2022-05-31"
  size_gb      = 0.57
  metric_name  = "auc-roc"
  sample_score = 0.5
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Predict the state of a made-up manufacturing process, 0 or 1, from 31 features whose interactions matter. A submission
    gives the probability of state 1; the score is the area under the ROC curve.
  EOT

  source "kaggle" {}

  param "test_size" {
    default     = 100000
    rehearsal   = 50
    description = "number of rows in the test part"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = param.test_size, random_state = 0 })
      train = assign(parts.train, { id = sequence(parts.train) })
      test  = assign(parts.test, { id = sequence(parts.test, { start = length(train) }) })
      gold  = select(test, "id", "target")
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = drop(test, "target") }
      table "sample_submission.csv" { rows = fill(gold, ["target"], 0.5) }
    }
    private {
      table "test.csv" { rows = test }
      table "gold_submission.csv" { rows = gold }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = ["target"]
    require {
      columns   = ["id", "target"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The leaderboard is crowded: gold and bronze are so close that the medal depends on the last digits. No preparation can fix that; v2 has the data and the score of v1, and its reports say how many teams lie within a rounding step."
    reference = "https://github.com/openai/mle-bench#known-issues"
    flags     = ["crowded"]
  }
}
