competition "histopathologic-cancer-detection" {
  title        = "Histopathologic Cancer Detection"
  category     = "image-other"
  complexity   = "low"
  kind         = "code"
  opened       = "2018-11-16"
  closed       = "2019-03-30"
  size_gb      = 7.76
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict whether the centre of a small patch of a lymph node scan contains tumour tissue. A submission gives the
    probability for each patch; the score is the area under the ROC curve.
  EOT

  public_labels "PatchCamelyon" {
    url       = "https://github.com/basveeling/pcam"
    covers    = "all"
    note      = "The patches are PatchCamelyon without its duplicates."
    loaders   = ["patch_camelyon", "PCAM"]
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    locals {
      labels     = csv("train_labels.csv")
      test_files = length(files("test/*.tif"))
      ids        = train_test_split(labels.id, { test_size = test_files / (test_files + length(labels)), random_state = 0 })
      train      = where_in(labels, "id", ids.train)
      test       = where_in(labels, "id", ids.test)
    }
    public {
      table "train_labels.csv" { rows = train }
      table "sample_submission.csv" { rows = fill(test, ["label"], 0) }
      files "train/{id}.tif" { each = train }
      files "test/{id}.tif" {
        from = "train/{id}.tif"
        each = test
      }
    }
    private {
      table "answers.csv" { rows = test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = ["label"]
    require {
      columns   = ["id", "label"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }
}
