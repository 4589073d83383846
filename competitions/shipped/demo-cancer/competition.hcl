competition "demo-cancer" {
  title       = "Breast cancer diagnosis (demonstration)"
  category    = "tabular-classification"
  complexity  = "demo"
  metric_name = "auc-roc"

  sample_score = 0.5

  description = <<-EOT
    Predict whether a breast lump is malignant. Each row of train.csv describes, by thirty measurements, the cell
    nuclei in an image of a sample taken from a breast lump; malignant is 1 if the lump was cancer, 0 if not. Predict
    the probability of malignancy for every row of test.csv. A submission has the columns id and malignant; its score
    is the area under the ROC curve. The data come from the UCI repository (see LICENCE.txt) and must not be used for
    medical decisions.
  EOT

  public_labels "Breast Cancer Wisconsin (Diagnostic)" {
    url       = "https://archive.ics.uci.edu/dataset/17/breast+cancer+wisconsin+diagnostic"
    covers    = "all"
    note      = "The rows are taken from it."
    loaders   = ["load_breast_cancer"]
    reference = "https://archive.ics.uci.edu/dataset/17/breast+cancer+wisconsin+diagnostic"
  }

  source "file" {
    path   = "data/wdbc.zip"
    md5    = "931d507a5228c2a9ffa065f5ff939eb8"
    sha256 = "17d69dd60f975a500ec41333ce1a4172e01250d4f3ceb578f6ff91900708327b"
  }

  prepare {
    locals {
      parts = train_test_split(csv("wdbc.csv"), { test_size = 0.3, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "malignant") }
      table "sample_submission.csv" { rows = table({ id = parts.test.id, malignant = 0.5 }) }
      copy "LICENCE.txt" {}
    }
    private {
      table "test.csv" { rows = select(parts.test, "id", "malignant") }
    }
  }

  validation {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.3, random_state = 0 })
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = ["malignant"]
    require {
      columns   = ["id", "malignant"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  medals {
    note = "Made up for the demonstration: the scores that common methods reach on this test part, from a constant guess to tuned support vector machines. No competition was held."
    scores = [
      0.9988, 0.9981, 0.9976, 0.9974, 0.9971, 0.9968, 0.9965, 0.9962, 0.9960, 0.9957,
      0.9954, 0.9951, 0.9948, 0.9945, 0.9940, 0.9935, 0.9930, 0.9925, 0.9920, 0.9910,
      0.9900, 0.9890, 0.9880, 0.9870, 0.9860, 0.9850, 0.9840, 0.9830, 0.9820, 0.9800,
      0.9780, 0.9750, 0.9700, 0.9650, 0.9550, 0.9400, 0.9100, 0.8500, 0.7000, 0.5000,
    ]
  }
}
