competition "siim-covid19-detection" {
  title        = "SIIM-FISABIO-RSNA COVID-19 Detection"
  category     = "object-detection"
  complexity   = "high"
  kind         = "code"
  opened       = "2021-05-18"
  closed       = "2021-08-09"
  size_gb      = 128.51
  metric_name  = "mean-average-precision"
  sample_score = 0.24492

  description = <<-EOT
    Find signs of pneumonia in chest radiographs of patients with COVID-19: one of four findings for each study, and
    boxes around the opacities for each image. A submission gives both as strings of class, confidence and box; the
    score is the mean average precision over the classes at an overlap of one half.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts         = train_test_split(csv("train_study_level.csv"), { test_size = 0.1, random_state = 0 })
      train_studies = sort_values(parts.train, "id")
      test_studies  = sort_values(parts.test, "id")

      # The images follow their studies.
      images       = csv("train_image_level.csv")
      study        = "${images.StudyInstanceUID}_study"
      train_images = sort_values(filter(images, isin(study, parts.train.id)), "id")
      test_images  = sort_values(filter(images, isin(study, parts.test.id)), "id")

      columns = ["Negative for Pneumonia", "Typical Appearance", "Indeterminate Appearance", "Atypical Appearance"]
      words   = ["negative", "typical", "indeterminate", "atypical"]
      finding = map(idxmax(select(test_studies, columns)), columns, words)

      answers = concat(
        table({ id = test_studies.id, PredictionString = "${finding} 1 0 0 1 1" }),
        table({ id = test_images.id, PredictionString = test_images.label }),
      )
      sample = concat(
        table({ id = test_studies.id, PredictionString = "negative 1 0 0 1 1" }),
        table({ id = test_images.id, PredictionString = "none 1 0 0 1 1" }),
      )
    }
    public {
      table "train_study_level.csv" { rows = train_studies }
      table "train_image_level.csv" { rows = train_images }
      table "sample_submission.csv" { rows = sample }
      copy "train/{study}" { each = table({ study = replace(train_studies.id, "_study", "") }) }
      copy "test/{study}" {
        from = "train/{study}"
        each = table({ study = replace(test_studies.id, "_study", "") })
      }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  mask {
    refuse = "DICOM files hold the identifiers of patient and study in their headers, which masking does not rewrite."
  }

  grade {
    metric  = "detection_ap"
    id      = "id"
    targets = ["PredictionString"]
    require {
      same_rows = true
      columns   = ["id", "PredictionString"]
      same_ids  = true
    }
  }
}
