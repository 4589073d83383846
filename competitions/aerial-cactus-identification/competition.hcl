competition "aerial-cactus-identification" {
  title        = "Aerial Cactus Identification"
  category     = "image-classification"
  complexity   = "low"
  kind         = "code"
  opened       = "2019-03-08"
  closed       = "2019-07-08"
  size_gb      = 0.0254
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell whether a small aerial photograph of a Mexican nature reserve shows a columnar cactus. A submission gives the
    probability for each picture; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "aerial-cactus-identification"
    md5  = "72018554bfbb009f2145f56121380078"
  }

  reference {
    sha256            = "4d89ec66b6f100519a552c5be47b128b21d4b857ba076576970606d29e25c778"
    obfuscated_sha256 = "6000b7f8654f7f2e4fa663f5fb1ef459312c302b4836e310ae206b0ec06d8c05"
  }

  prepare {
    extract = ["train.zip"]
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.19, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["has_cactus"], 0.5) }
      archive "train.zip" {
        files "{id}" {
          from = "train/{id}"
          each = parts.train
        }
      }
      archive "test.zip" {
        files "{id}" {
          from = "train/{id}"
          each = parts.test
        }
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = ["has_cactus"]
    require {
      columns   = ["id", "has_cactus"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The leaderboard is crowded: 150 of its teams have the perfect score, which is the threshold of gold, silver and bronze alike. No preparation mends that; v2 has the data and the score of v1, and its reports say how many teams stand within a step of rounding."
    reference = "https://www.kaggle.com/competitions/aerial-cactus-identification/leaderboard"
    flags     = ["crowded"]
  }

  checksums {
    public = {
      "sample_submission.csv" = "14c675bde0de98994efafac8e008277e"
      "train.csv"             = "4f5f752b84f8836c852f4f70e988a545"
    }
    private = {
      "test.csv" = "ebdb02d62dbaf60270a9b3a8617840af"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
