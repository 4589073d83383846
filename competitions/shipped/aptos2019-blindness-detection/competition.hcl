competition "aptos2019-blindness-detection" {
  title        = "APTOS 2019 Blindness Detection"
  category     = "image-classification"
  complexity   = "low"
  kind         = "code"
  opened       = "2019-06-28"
  closed       = "2019-09-07"
  size_gb      = 10.22
  metric_name  = "quadratic-weighted-kappa"
  sample_score = 0

  description = <<-EOT
    Rate the severity of diabetic retinopathy from 0 (none) to 4 (proliferative) in photographs of the retina. The score
    is the quadratic weighted kappa between the ratings and those of a clinician.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "diagnosis") }
      table "sample_submission.csv" { rows = fill(parts.test, ["diagnosis"], 0) }
      files "train_images/{id_code}.png" { each = parts.train }
      files "test_images/{id_code}.png" {
        from = "train_images/{id_code}.png"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "kappa"
    params  = { weights = "quadratic" }
    id      = "id_code"
    targets = ["diagnosis"]
    require {
      columns     = ["diagnosis"]
      not_empty   = true
      same_id_set = true
    }
  }
}
