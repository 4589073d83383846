competition "osic-pulmonary-fibrosis-progression" {
  title        = "OSIC Pulmonary Fibrosis Progression"
  category     = "forecasting"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-07-07"
  closed       = "2020-10-06"
  size_gb      = 23.99
  metric_name  = "modified-laplace-log-likelihood"
  sample_score = -14.9683

  description = <<-EOT
    Predict how the lungs of patients with pulmonary fibrosis decline, from a scan of the chest, the first measurement
    of the forced vital capacity (FVC, in millilitres) and a few facts about the patient. A submission gives for each
    patient and week, as Patient_Week, the FVC and a confidence, which is its standard deviation; the score is a
    modified Laplace log likelihood over the last three visits of each patient.
  EOT

  source "kaggle" {}

  locals {
    complete = false # whether a submission needs every patient and week: see the errata
  }

  prepare {
    locals {
      visits   = csv("train.csv")
      patients = train_test_split(sort(unique(visits.Patient)), { test_size = 0.1, random_state = 0 })
      train    = take_groups(visits, "Patient", patients.train)
      test     = take_groups(visits, "Patient", patients.test)

      # Every test patient in every week between the first and the last visit of any of them.
      weeks   = range(min(test.Weeks), max(test.Weeks) + 1)
      asked   = cross(table({ Patient = patients.test }), "Weeks", weeks)
      known   = join_on(asked, test, ["Patient", "Weeks"])
      answers = assign(known, { Patient_Week = "${known.Patient}_${known.Weeks}", Confidence = 100 })
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = group_first(sort_values(test, "Weeks"), "Patient") }
      table "sample_submission.csv" {
        rows = table({ Patient_Week = answers.Patient_Week, FVC = 2000, Confidence = 100 })
      }
      copy "train/{Patient}" { each = patients.train }
      copy "test/{Patient}" {
        from = "train/{Patient}"
        each = patients.test
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
    metric  = "laplace_log_likelihood"
    params  = { confidence = "Confidence", group = "Patient", last = 3 }
    id      = "Patient_Week"
    targets = ["FVC"]
    align   = "position"
    require {
      columns              = ["Patient_Week", "FVC", "Confidence"]
      known_ids            = true
      all_ids              = complete
      unique_ids           = complete
      number_or_truth_type = ["FVC", "Confidence"]
    }
  }

  errata "v2" {
    reason    = "If patients or weeks are missing from a submission, only the others are graded, so that leaving out what is hard to predict raises the score, and a submission without any of the graded weeks scores NaN. v2 requires every patient and week."
    reference = "grade.py"
    locals {
      complete = true
    }
  }
}
