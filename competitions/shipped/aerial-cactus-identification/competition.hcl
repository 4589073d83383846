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

  description = <<-EOT
    Predict whether a small aerial photograph of a Mexican nature reserve shows a columnar cactus. A submission gives
    the probability for each image; the score is the area under the ROC curve.
  EOT

  public_labels "Cactus aerial photos" {
    url       = "https://www.kaggle.com/datasets/irvingvasquez/cactus-aerial-photos"
    covers    = "all"
    note      = "The labelled photos are these, resized."
    loaders   = ["irvingvasquez/cactus-aerial-photos"]
    reference = "https://www.sciencedirect.com/science/article/pii/S1574954119300895"
  }

  source "kaggle" {}

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

  validation {
    extract = { "train.zip" = "train" }
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
    reason    = "The leaderboard is crowded: 150 of its teams have the perfect score, which is the threshold of gold, silver and bronze alike. No preparation can fix that; v2 has the data and the score of v1, and its reports say how many teams lie within a rounding step."
    reference = "https://www.kaggle.com/competitions/aerial-cactus-identification/leaderboard"
    flags     = ["crowded"]
  }
}
