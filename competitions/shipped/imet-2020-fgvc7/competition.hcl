competition "imet-2020-fgvc7" {
  title        = "iMet Collection 2020 - FGVC7"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-03-27"
  closed       = "2020-05-28"
  size_gb      = 29.46
  metric_name  = "micro-f1-score"
  sample_score = 6e-05
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the attributes of a work of art in the Metropolitan Museum, such as its country, material and subject,
    from a photograph. A submission lists the attributes of every image; the score is the F1 score over all pairs of
    image and attribute.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.15, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["attribute_ids"], "0 1 2") }
      copy "labels.csv" {}
      files "train/{id}.png" { each = parts.train }
      files "test/{id}.png" {
        from = "train/{id}.png"
        each = parts.test
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "multilabel_f1"
    id      = "id"
    targets = ["attribute_ids"]
    cells   = "filled"
    require {
      columns   = ["id", "attribute_ids"]
      same_rows = true
      same_ids  = true
    }
  }
}
