competition "tabular-playground-series-may-2022" {
  title        = "Tabular Playground Series - May 2022"
  category     = "tabular"
  complexity   = "low"
  kind         = "simple"
  opened       = "2022-05-01"
  closed       = "2022-05-31"
  size_gb      = 0.57
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  gold         = "private/gold_submission.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict the state of a made-up manufacturing process, 0 or 1, from 31 features whose interactions matter. A submission
    gives the probability of state 1; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "tabular-playground-series-may-2022"
    md5  = "2cad1cd0e611cc4e7a1e780e81d3e2ea"
  }

  reference {
    sha256            = "a64340a1c829f6e2c3ee8411cfa3089a4418571fee7186c91b5be2ef241bfcff"
    obfuscated_sha256 = "30fb66d54101a9f82c7eb1bc8c9d7764d218299d4d22b594c895cc19b482d009"
  }

  param "test_size" {
    default     = 100000
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
    reason    = "The leaderboard is crowded: gold and bronze are so close that the medal hangs on the last digits. No preparation mends that; v2 has the data and the score of v1, and its reports say how many teams stand within a step of rounding."
    reference = "https://github.com/openai/mle-bench#known-issues"
    flags     = ["crowded"]
  }

  checksums {
    public = {
      "sample_submission.csv" = "353457517aa847e701141e00a7a774eb"
      "test.csv"              = "a15b39583b2c38e02f986251d0292851"
      "train.csv"             = "40ef2671fc5bde862789ff7cfcc48c20"
    }
    private = {
      "gold_submission.csv" = "fd2e8a542de49e4f4b46ea1a174db71a"
      "test.csv"            = "0ad7146d50d6a3043b98e9471835db59"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
