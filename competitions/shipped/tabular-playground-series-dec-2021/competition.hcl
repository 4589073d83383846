competition "tabular-playground-series-dec-2021" {
  title        = "Tabular Playground Series - Dec 2021"
  category     = "tabular"
  complexity   = "low"
  opened       = "2021-12-01"
  closed       = "2021-12-31"
  size_gb      = 0.7
  metric_name  = "multi-class-classification-accuracy"
  sample_score = 0.56458

  description = <<-EOT
    Predict the forest cover type of a patch of land from cartographic features. The data are synthetic, modelled on
    the well-known Forest Cover data. The score is the accuracy.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "Cover_Type") }
      table "sample_submission.csv" { rows = table({ Id = parts.test.Id, Cover_Type = 2 }) }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "Id"
    targets = ["Cover_Type"]
    require {
      same_rows = true
      columns   = ["Cover_Type", "Id"]
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The leaderboard is crowded: gold and bronze are so close that the medal depends on the last digits. No preparation can fix that; v2 has the data and the score of v1, and its reports say how many teams lie within a rounding step."
    reference = "https://github.com/openai/mle-bench#known-issues"
    flags     = ["crowded"]
  }
}
