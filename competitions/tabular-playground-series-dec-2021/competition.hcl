competition "tabular-playground-series-dec-2021" {
  title        = "Tabular Playground Series - Dec 2021"
  category     = "tabular"
  complexity   = "low"
  kind         = "simple"
  opened       = "2021-12-01"
  closed       = "2021-12-31"
  size_gb      = 0.7
  metric_name  = "multi-class-classification-accuracy"
  sample_score = 0.56458
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict the kind of forest cover of a patch of land from cartographic features. The data are synthetic, made after
    the well-known Forest Cover data. The score is the share of rows told rightly.
  EOT

  source "kaggle" {
    slug = "tabular-playground-series-dec-2021"
    md5  = "c7f38370ee2609e5602814a55cb26555"
  }

  reference {
    sha256            = "2e71be7051c006b63ae8bae4e1b0e6a620914d8cd9bf580d1f10871f95d043f6"
    obfuscated_sha256 = "0f180dc1dbd353a2104fa6beac80f4f2ca35f83c324f91431de9226e2f219904"
  }

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
    reason    = "The leaderboard is crowded: gold and bronze are so close that the medal hangs on the last digits. No preparation mends that; v2 has the data and the score of v1, and its reports say how many teams stand within a step of rounding."
    reference = "https://github.com/openai/mle-bench#known-issues"
    flags     = ["crowded"]
  }

  checksums {
    public = {
      "sample_submission.csv" = "d7b1e1f35677df7cce6942a8c053633f"
      "test.csv"              = "3427fd7ec4244230795e37dac986916a"
      "train.csv"             = "f5b8080079184e0eb10ef7b6b2f1fec7"
    }
    private = {
      "test.csv" = "0819faab160bc678ff4e04b799caf748"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
