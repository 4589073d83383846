competition "paddy-disease-classification" {
  title        = "Paddy Doctor: Paddy Disease Classification"
  complexity   = "dev"
  metric_name  = "accuracy"
  sample_score = 0

  description = <<-EOT
    Predict the disease of a rice plant, or that it is healthy, from a photograph of its leaves. There are ten
    classes; the variety and age of the plants are given for the training images. The score is the accuracy.
  EOT

  public_labels "Paddy Doctor" {
    url       = "https://paddydoc.github.io/"
    covers    = "unknown"
    note      = "It has photographs of the same project with their diseases."
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { train_size = 0.75, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = table({ image_id = parts.test.image_id, label = "" }) }
      files "train_images/{label}/{image_id}" { each = parts.train }
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
}
