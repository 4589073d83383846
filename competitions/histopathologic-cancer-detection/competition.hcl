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
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell whether the centre of a small patch of a lymph node scan holds tumour tissue. A submission gives the probability
    for each patch; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "histopathologic-cancer-detection"
    md5  = "a49ad4e5cf84b7df1ccb1f58526d2e21"
  }

  reference {
    sha256            = "00a703c776bba4215bbb8d45bcd3e27428e60f7a38b0e9444c9b6e64c69d59db"
    obfuscated_sha256 = "024e3ec816d3ed7996982d3c1ec46020baf09b31c8aa84c8e7911f466bcbcfea"
  }

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
      files "train/{id}.tif" {
        from = "train/{id}.tif"
        each = train
      }
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

  checksums {
    public = {
      "sample_submission.csv" = "8016b8be0087d487ff38ac46f646a01d"
      "train_labels.csv"      = "806d8b128caeeaf4d0091bd6034cd0fb"
    }
    private = {
      "answers.csv" = "949d1acc553f3a04b89262f6e24e9fc7"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
