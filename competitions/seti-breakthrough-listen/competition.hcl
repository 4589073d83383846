competition "seti-breakthrough-listen" {
  title        = "SETI Breakthrough Listen - E.T. Signal Search"
  category     = "signal-processing"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2021-05-10"
  closed       = "2021-08-19"
  size_gb      = 156.02
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Find the signals that were planted into recordings of a radio telescope that looks for extraterrestrial technology. A
    submission gives the probability that a snippet holds one; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "seti-breakthrough-listen"
    md5  = "0004b231e3a9dcff5bf82b59a52b9160"
  }

  reference {
    sha256            = "d0bb4e333607b9cc034d7a2fdef347517b914294d0f35c969c692766d29761d0"
    obfuscated_sha256 = "34c9f09c17b1c7a33848901d64de8126cf6253b5e7a0ae84c57e34a5bbe761fc"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train_labels.csv"), { test_size = 0.1, random_state = 0 })
      train = parts.train
      test  = parts.test
    }
    public {
      table "train_labels.csv" { rows = train }
      table "sample_submission.csv" { rows = fill(test, ["target"], 0.5) }
      copy "old_leaky_data" { from = "old_leaky_data" }
      files "train/{first}/{id}.npy" {
        from = "train/{first}/{id}.npy"
        each = assign(train, { first = substr(train.id, 0, 1) })
      }
      files "test/{first}/{id}.npy" {
        from = "train/{first}/{id}.npy"
        each = assign(test, { first = substr(test.id, 0, 1) })
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = ["target"]
    require {
      columns   = ["id", "target"]
      same_rows = true
      numeric   = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "6bec1773dc78bbe72a70a539e86a8bac"
      "train_labels.csv"      = "c2dc9aa0bb1a60ba40215f979d81df6c"
    }
    private = {
      "test.csv" = "bde6668df6af0c858a8eea028a140bfb"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
