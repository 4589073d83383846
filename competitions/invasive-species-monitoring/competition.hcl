competition "invasive-species-monitoring" {
  title        = "Invasive Species Monitoring"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/answers.csv"
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    Tell whether a photograph taken in a Brazilian national forest shows an invasive plant, a hydrangea. A submission
    gives the probability for each picture; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "invasive-species-monitoring"
    md5  = "6e32b8c25b22dc4653540891871bc853"
  }

  reference {
    sha256            = "316981109dd2e81be94aa7606c7f8865b27da9a15bdfdf4789307e89261b17c6"
    obfuscated_sha256 = "f9156bd46f83b44a7f3e756487a1156d13a32a995ac05e21bc3ea12ce248c4ca"
  }

  prepare {
    extract = ["train.7z", "train_labels.csv.zip"]
    locals {
      parts  = train_test_split(csv("train_labels.csv"), { test_size = 0.2, random_state = 0 })
      sample = fill(parts.test, ["invasive"], 0.5)
    }
    # The reference's 7z archives hold one empty folder each by mistake; these
    # hold the pictures. No score depends on it.
    public {
      archive "train.7z" {
        files "train/{name}.jpg" {
          from = "train/{name}.jpg"
          each = parts.train
        }
      }
      archive "test.7z" {
        files "test/{name}.jpg" {
          from = "train/{name}.jpg"
          each = parts.test
        }
      }
      archive "train_labels.csv.zip" {
        table "train_labels.csv" { rows = parts.train }
      }
      archive "sample_submission.csv.zip" {
        table "sample_submission.csv" { rows = sample }
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
      table "sample_submission.csv" { rows = sample }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "name"
    targets = ["invasive"]
    require {
      columns   = ["name", "invasive"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  lint {
    allow "layout" {
      reason = "The reference takes the sample submission from private; agents get it as public/sample_submission.csv.zip."
    }
  }

  checksums {
    private = {
      "answers.csv"           = "931c56b826f984b6e8e38de046240166"
      "sample_submission.csv" = "3fc85f5b579bbf85aa605899887df903"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
