competition "rsna-miccai-brain-tumor-radiogenomic-classification" {
  title        = "RSNA-MICCAI Brain Tumor Radiogenomic Classification"
  category     = "image-other"
  complexity   = "high"
  kind         = "code"
  opened       = "2021-07-13"
  closed       = "2021-10-15"
  size_gb      = 135.85
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell from magnetic resonance scans of a brain tumour whether a marker that foretells how chemotherapy works, the
    methylation of the MGMT promoter, is present. A submission gives the probability for each patient; the score is the
    area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "rsna-miccai-brain-tumor-radiogenomic-classification"
    md5  = "148f363879c193b0c510b840832833e3"
  }

  reference {
    sha256            = "df615804a3e93b0b5f854b8905afd148a6cbface3195e90898c38ca87ec2a679"
    obfuscated_sha256 = "0cf0bc06c6e69e7d5aec39c5989a3f8b2c0b1274d2e982369f6c2f101de51623"
  }

  prepare {
    locals {
      labels = csv("train_labels.csv", { types = { BraTS21ID = "text", MGMT_value = "int" } })
      parts  = train_test_split(labels, { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train_labels.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["MGMT_value"], 0.5) }
      copy "train/{BraTS21ID}" {
        from = "train/{BraTS21ID}"
        each = parts.train
      }
      copy "test/{BraTS21ID}" {
        from = "train/{BraTS21ID}"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "BraTS21ID"
    targets = ["MGMT_value"]
    require {
      columns   = ["BraTS21ID", "MGMT_value"]
      same_rows = true
      numeric   = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "893556127819a5b9428102dbbc0e0ed3"
      "train_labels.csv"      = "891e1c30bfe288e25c931759a746f254"
    }
    private = {
      "test.csv" = "9069c7813ae83cd1dc962efed1875074"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
