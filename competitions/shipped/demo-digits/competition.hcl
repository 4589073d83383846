competition "demo-digits" {
  title       = "Handwritten digits (demonstration)"
  category    = "tabular-classification"
  complexity  = "demo"
  metric_name = "accuracy"

  sample_score = 0.075

  description = <<-EOT
    Recognize handwritten digits. Each row of train.csv is a digit of 8 by 8 pixels, in the columns pixel_0_0 to
    pixel_7_7 by rows from the top, each from 0 (white) to 16 (black); the column digit is the label. Predict the
    digit of every row of test.csv. A submission has the columns id and digit; its score is the accuracy. The digits
    were written by 13 people; the data come from the UCI repository (see LICENCE.txt).
  EOT

  public_labels "Optical Recognition of Handwritten Digits" {
    url       = "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits"
    covers    = "all"
    note      = "The rows are taken from it."
    loaders   = ["load_digits"]
    reference = "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits"
  }

  source "file" {
    path   = "data/digits.zip"
    md5    = "3914e36d274b20bf0577480a3add3b12"
    sha256 = "a4c8986f27a60b3f5121eeb0dfcffdc197efa07acafaff619e7c98973c44aa1c"
  }

  prepare {
    locals {
      parts = train_test_split(csv("digits.csv"), { test_size = 0.2, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "digit") }
      table "sample_submission.csv" { rows = table({ id = parts.test.id, digit = 0 }) }
      copy "LICENCE.txt" {}
    }
    private {
      table "test.csv" { rows = select(parts.test, "id", "digit") }
    }
  }

  validation {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.2, random_state = 0 })
    }
  }

  grade {
    metric  = "accuracy"
    id      = "id"
    targets = ["digit"]
    require {
      columns   = ["id", "digit"]
      same_rows = true
      same_ids  = true
    }
  }

  medals {
    note = "Made up for the demonstration: the accuracies that common methods reach on this test part, from a constant guess to tuned support vector machines. No competition was held."
    scores = [
      0.99722, 0.99444, 0.99444, 0.99167, 0.99167, 0.98889, 0.98889, 0.98611, 0.98611, 0.98333,
      0.98333, 0.98056, 0.97778, 0.97778, 0.975, 0.97222, 0.97222, 0.96944, 0.96944, 0.96667,
      0.96667, 0.96389, 0.96111, 0.95833, 0.95556, 0.95278, 0.95, 0.94722, 0.94444, 0.93889,
      0.93056, 0.92222, 0.91111, 0.89722, 0.875, 0.84722, 0.825, 0.75, 0.51389, 0.075,
    ]
  }
}
