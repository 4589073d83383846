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

  description = <<-EOT
    Predict from MRI scans of a brain tumour whether methylation of the MGMT promoter, a marker that predicts the
    response to chemotherapy, is present. A submission gives the probability for each patient; the score is the area
    under the ROC curve.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      labels = csv("train_labels.csv", { types = { BraTS21ID = "text", MGMT_value = "int" } })
      parts  = train_test_split(labels, { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train_labels.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["MGMT_value"], 0.5) }
      copy "train/{BraTS21ID}" { each = parts.train }
      copy "test/{BraTS21ID}" {
        from = "train/{BraTS21ID}"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  mask {
    refuse = "DICOM files hold the identifiers of patient and study in their headers, which masking does not rewrite."
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
}
