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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Rate the severity of diabetic retinopathy from 0 (none) to 4 (proliferative) in photographs of the retina. The score
    is the quadratic weighted kappa between the ratings and those of a clinician.
  EOT

  source "kaggle" {
    slug = "aptos2019-blindness-detection"
    md5  = "fff5440648ab9ee707bc56c97c40dc2f"
  }

  reference {
    sha256            = "029b3e0cc59183f11c26950a7f1c84f28bfecca7e6bcf4147b4e4d348b103952"
    obfuscated_sha256 = "2a2685614077dae55709961d92acd77217705f7a35bc20e47640d64f9d6e0df4"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "diagnosis") }
      table "sample_submission.csv" { rows = fill(parts.test, ["diagnosis"], 0) }
      files "train_images/{id_code}.png" {
        from = "train_images/{id_code}.png"
        each = parts.train
      }
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

  checksums {
    public = {
      "sample_submission.csv" = "4a80cd1603bdd3423b602b609cc074c2"
      "test.csv"              = "395258c0476fa058de79fa8691a12723"
      "train.csv"             = "1a1f11fbeb7f20afd334e28421825725"
    }
    private = {
      "test.csv" = "a5c28ffe71a45d1fadf4bdda3c52d957"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
