competition "paddy-disease-classification" {
  title        = "Paddy Doctor: Paddy Disease Classification"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "accuracy"
  sample_score = 0
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the disease of a rice plant, or that it is healthy, from a photograph of its leaves. There are ten classes; the
    variety and age of the plants are given for the training pictures. The score is the share of pictures told rightly.
  EOT

  source "kaggle" {
    slug = "paddy-disease-classification"
    md5  = "c3bdea9db24a456b2ca5383ecd8d2df5"
  }

  reference {
    sha256            = "78ffdacc4c00657bfa5bee47c7ded00534ba7a88e1e5fd7874e1c7c72b889d81"
    obfuscated_sha256 = "0751bb2a9ae253d86bd6d877949773e5069e4300d63eeda96924ce682ae4da14"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { train_size = 0.75, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = table({ image_id = parts.test.image_id, label = "" }) }
      files "train_images/{label}/{image_id}" {
        from = "train_images/{label}/{image_id}"
        each = parts.train
      }
      files "test_images/{image_id}" {
        from = "train_images/{label}/{image_id}"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "image_id"
    targets = ["label"]
    cells   = "filled_list"
    require {
      columns   = ["image_id", "label"]
      same_rows = true
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "c14ec25b7d3d20715830e2b34b3c0d4a"
      "train.csv"             = "893609e41711931bc46caadb00327a49"
    }
    private = {
      "test.csv" = "ad25b008d56c0a716d1566da6d8f55bd"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
