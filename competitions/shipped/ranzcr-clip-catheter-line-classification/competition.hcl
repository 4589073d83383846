competition "ranzcr-clip-catheter-line-classification" {
  title        = "RANZCR CLiP - Catheter and Line Position Challenge"
  category     = "image-classification"
  complexity   = "low"
  kind         = "code"
  opened       = "2020-12-14"
  closed       = "2021-03-16"
  size_gb      = 13.13
  metric_name  = "auc-roc"
  sample_score = 0.5

  description = <<-EOT
    Predict which catheters and lines a chest X-ray shows and whether they are placed correctly: endotracheal,
    nasogastric and central venous ones. A submission gives a probability for each of nine findings; the score is the
    mean of the nine areas under the ROC curve.
  EOT

  source "kaggle" {}

  locals {
    # The graded findings. Two of the data's eleven are not graded: see the errata.
    findings = [
      "ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
      "NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline",
    ]
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "train_annotations.csv" {
        rows = where_in(csv("train_annotations.csv"), "StudyInstanceUID", parts.train.StudyInstanceUID)
      }
      table "sample_submission.csv" {
        rows = fill(select(parts.test, "StudyInstanceUID"), findings, 0)
      }
      files "train/{StudyInstanceUID}.jpg" { each = parts.train }
      files "test/{StudyInstanceUID}.jpg" {
        from = "train/{StudyInstanceUID}.jpg"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "StudyInstanceUID"
    targets = findings
    require {
      columns   = concat(findings, ["StudyInstanceUID"])
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "Two of the competition's eleven findings, CVC - Normal and Swan Ganz Catheter Present, are missing from the sample submission and the score. v2 requires and grades all eleven."
    reference = "https://github.com/openai/mle-bench/issues/30"
    fixes     = ["ungraded-columns"]
    locals {
      findings = [
        "ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
        "NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline", "CVC - Normal",
        "Swan Ganz Catheter Present",
      ]
    }
  }
}
