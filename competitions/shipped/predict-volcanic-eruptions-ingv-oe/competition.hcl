competition "predict-volcanic-eruptions-ingv-oe" {
  title        = "INGV - Volcanic Eruption Prediction"
  category     = "signal-processing"
  complexity   = "high"
  opened       = "2020-10-12"
  closed       = "2021-01-06"
  size_gb      = 31.25
  metric_name  = "mean-absolute-error"
  sample_score = 24402200

  description = <<-EOT
    Predict the time until a volcano's next eruption from ten-minute recordings of ten sensors around it. A submission
    gives the time for each segment; the score is the mean absolute error, rounded to an integer.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["time_to_eruption"], 0) }
      files "train/{segment_id}.csv" { each = parts.train }
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
}
