competition "predict-volcanic-eruptions-ingv-oe" {
  title        = "INGV - Volcanic Eruption Prediction"
  category     = "signal-processing"
  complexity   = "high"
  kind         = "simple"
  opened       = "2020-10-12"
  closed       = "2021-01-06"
  size_gb      = 31.25
  metric_name  = "mean-absolute-error"
  sample_score = 24402200
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict how long it takes until a volcano's next eruption, from ten minutes of what ten sensors around it recorded. A
    submission gives the time for each segment; the score is the mean absolute error, rounded to a whole number.
  EOT

  source "kaggle" {
    slug = "predict-volcanic-eruptions-ingv-oe"
    md5  = "eb45476258edbdbf2b57a30e77484904"
  }

  reference {
    sha256            = "330e66952cc1249e83e65de93a9fc1815d0036e04d4ac133254b04d4b4df666e"
    obfuscated_sha256 = "9ebd861fd47e857cfe9a32f241530dd727718a0a37b2f6872a149097379304a4"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["time_to_eruption"], 0) }
      files "train/{segment_id}.csv" {
        from = "train/{segment_id}.csv"
        each = parts.train
      }
      files "test/{segment_id}.csv" {
        from = "train/{segment_id}.csv"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "mae"
    params  = { whole = true }
    id      = "segment_id"
    targets = ["time_to_eruption"]
    align   = "join"
    require {
      columns     = ["time_to_eruption", "segment_id"]
      same_id_set = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "99631b72e1d2019b0b498f0dd6eec1cb"
      "train.csv"             = "b7c10ca530487fb7e3d1f1669a6e5059"
    }
    private = {
      "test.csv" = "1034df7a3f38ccd7bf9e5d6357db86f3"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
