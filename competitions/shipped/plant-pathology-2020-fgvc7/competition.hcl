competition "plant-pathology-2020-fgvc7" {
  title        = "Plant Pathology 2020 - FGVC7"
  category     = "image-classification"
  complexity   = "low"
  opened       = "2020-03-09"
  closed       = "2020-05-26"
  size_gb      = 0.8
  metric_name  = "mean-column-wise-roc-auc"
  sample_score = 0.5

  description = <<-EOT
    Diagnose apple leaves from photographs: healthy, rust, scab or several diseases at once. A submission gives a
    probability for each of the four; the score is the mean of the four areas under the ROC curve.
  EOT

  source "kaggle" {}

  locals {
    classes = ["healthy", "multiple_diseases", "rust", "scab"]
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      train = assign(parts.train, { image_id = "Train_${ngroup(parts.train.image_id, { sort = false })}" })
      test  = assign(parts.test, { image_id = "Test_${ngroup(parts.test.image_id, { sort = false })}" })
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = select(test, "image_id") }
      table "sample_submission.csv" { rows = fill(select(test, "image_id"), classes, 0.25) }
      files "images/{new}.jpg" {
        from = "images/{old}.jpg"
        each = table({
          new = concat(train.image_id, test.image_id)
          old = concat(parts.train.image_id, parts.test.image_id)
        })
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "image_id"
    targets = classes
    params  = { by_column = true }
    require {
      same_rows     = true
      exact_columns = true
      same_ids      = true
    }
  }
}
