competition "statoil-iceberg-classifier-challenge" {
  title        = "Statoil/C-CORE Iceberg Classifier Challenge"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2017-10-23"
  closed       = "2018-01-23"
  size_gb      = 0.3021
  metric_name  = "log-loss"
  sample_score = 0.69315
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    Predict whether an object that a satellite's radar saw at sea is an iceberg or a ship, from two images of 75 by 75
    pixels and the angle of the radar. A submission gives the probability of an iceberg; the score is the log loss.
  EOT

  source "kaggle" {}

  prepare {
    extract = ["train.json.7z", "test.json.7z"]
    locals {
      parts = train_test_split(json("data/processed/train.json"), { test_size = 0.2, random_state = 0 })
      given = json("data/processed/test.json", { head = 1 })
      answers = table({
        id         = parts.test.id
        is_iceberg = integer(parts.test.is_iceberg)
      })
      sample = fill(answers, ["is_iceberg"], 0.5)
    }
    public {
      archive "train.json.7z" {
        json "train.json" { value = parts.train }
      }
      archive "test.json.7z" {
        json "test.json" { value = select_fields(parts.test, names_of(given[0])) }
      }
      archive "sample_submission.csv.7z" {
        table "sample_submission.csv" { rows = sample }
      }
    }
    private {
      table "test.csv" { rows = answers }
      table "sample_submission.csv" { rows = sample }
    }
  }

  validation {
    extract = { "train.json.7z" = "data/processed", "test.json.7z" = "data/processed" }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = ["is_iceberg"]
    require {
      columns     = ["id", "is_iceberg"]
      same_id_set = true
      between     = [0, 1]
    }
  }

  lint {
    allow "layout" {
      reason = "The reference reads the sample submission from private; agents get it as public/sample_submission.csv.7z."
    }
  }
}
