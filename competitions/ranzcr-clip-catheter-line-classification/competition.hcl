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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell which catheters and lines a chest X-ray shows and whether they are placed well: endotracheal, nasogastric and
    central venous ones. A submission gives a probability for each of nine findings; the score is the mean of the nine
    areas under the ROC curve.
  EOT

  source "kaggle" {
    slug = "ranzcr-clip-catheter-line-classification"
    md5  = "f8a117e7ba1b5527c99c80b54beddeb5"
  }

  reference {
    sha256            = "9e44dcf23f08a1834d5b89cd784f1956a3c60c016be632e5499fb16319179d77"
    obfuscated_sha256 = "b69a26e4fa6b63afecfc394de091a2d5a7f3e37be1b80a140787e96b4a293746"
  }

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
      files "train/{StudyInstanceUID}.jpg" {
        from = "train/{StudyInstanceUID}.jpg"
        each = parts.train
      }
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
    reason    = "The sample submission and the score lack two of the eleven findings, CVC - Normal and Swan Ganz Catheter Present, which the competition had. v2 asks for and grades all eleven."
    reference = "https://github.com/openai/mle-bench/issues/30"
    mends     = ["ungraded-columns"]
    locals {
      findings = [
        "ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
        "NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline", "CVC - Normal",
        "Swan Ganz Catheter Present",
      ]
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "fade90160bce8a12138711b20fa89584"
      "train.csv"             = "620fa6759729f96539ed66ae860a84f9"
      "train_annotations.csv" = "1929aab17c1206719cc7edf6d7e9e57b"
    }
    private = {
      "test.csv" = "e2959bb0ca0ca9fc983b02e01caf31fa"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
