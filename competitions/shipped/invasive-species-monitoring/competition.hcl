competition "invasive-species-monitoring" {
  title        = "Invasive Species Monitoring"
  complexity   = "dev"
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/answers.csv"
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    Predict whether a photograph taken in a Brazilian national forest shows an invasive plant, a hydrangea. A
    submission gives the probability for each image; the score is the area under the ROC curve.
  EOT

  source "kaggle" {}

  prepare {
    extract = ["train.7z", "train_labels.csv.zip"]
    locals {
      parts  = train_test_split(csv("train_labels.csv"), { test_size = 0.2, random_state = 0 })
      sample = fill(parts.test, ["invasive"], 0.5)
    }
    # The reference's 7z archives contain one empty folder each by mistake; these
    # contain the images. No score depends on it.
    public {
      archive "train.7z" {
        files "train/{name}.jpg" { each = parts.train }
      }
      archive "test.7z" {
        files "test/{name}.jpg" {
          from = "train/{name}.jpg"
          each = parts.test
        }
      }
      archive "train_labels.csv.zip" {
        table "train_labels.csv" { rows = parts.train }
      }
      archive "sample_submission.csv.zip" {
        table "sample_submission.csv" { rows = sample }
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
      table "sample_submission.csv" { rows = sample }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "name"
    targets = ["invasive"]
    require {
      columns   = ["name", "invasive"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  lint {
    allow "layout" {
      reason = "The reference reads the sample submission from private; agents get it as public/sample_submission.csv.zip."
    }
  }
}
