competition "rsna-breast-cancer-detection" {
  title        = "RSNA Screening Mammography Breast Cancer Detection"
  category     = "image-classification"
  complexity   = "high"
  kind         = "code"
  opened       = "2022-11-28"
  closed       = "2023-02-27"
  size_gb      = 314.72
  metric_name  = "probabilistic-f1-score"
  sample_score = 0.02212
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict from screening mammograms whether a breast has cancer. Each patient has several images of each side; a
    submission gives one probability for each patient and side, named by prediction_id, such as 10_L. The score is the
    probabilistic F1.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      all      = csv("train.csv")
      patients = train_test_split(unique(all.patient_id), { test_size = 0.1, random_state = 42 })
      train    = where_in(all, "patient_id", patients.train)
      held     = where_in(all, "patient_id", patients.test)
      test     = assign(held, { prediction_id = "${held.patient_id}_${held.laterality}" })
      answers  = group_first(select(test, "prediction_id", "cancer"), "prediction_id")
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" {
        rows = select(test, "site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id", "prediction_id")
      }
      table "sample_submission.csv" { rows = fill(answers, ["cancer"], mean(train.cancer)) }
      files "train_images/{patient_id}/{image_id}.dcm" { each = train }
      files "test_images/{patient_id}/{image_id}.dcm" {
        from = "train_images/{patient_id}/{image_id}.dcm"
        each = test
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  mask {
    refuse = "DICOM files hold the identifiers of patient and study in their headers, which masking does not rewrite."
  }

  grade {
    metric  = "probabilistic_f1"
    id      = "prediction_id"
    targets = ["cancer"]
    require {
      columns   = ["prediction_id", "cancer"]
      same_rows = true
      same_ids  = true
    }
  }
}
