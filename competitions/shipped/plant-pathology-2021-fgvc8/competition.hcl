competition "plant-pathology-2021-fgvc8" {
  title        = "Plant Pathology 2021 - FGVC8"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2021-03-15"
  closed       = "2021-05-27"
  size_gb      = 16.1
  metric_name  = "micro-f1-score"
  sample_score = 0.24507
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the diseases of an apple leaf in an image; a leaf may have several, or be healthy. A submission gives the
    labels of each image, separated by spaces; the score is the micro-averaged F1.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.2, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["labels"], "healthy") }
      files "train_images/{image}" { each = parts.train }
      files "test_images/{image}" {
        from = "train_images/{image}"
        each = parts.test
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "multilabel_f1"
    id      = "image"
    targets = ["labels"]
    cells   = "filled"
    require {
      columns   = ["image", "labels"]
      same_rows = true
      same_ids  = true
    }
  }
}
