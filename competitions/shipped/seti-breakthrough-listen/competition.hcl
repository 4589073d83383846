competition "seti-breakthrough-listen" {
  title        = "SETI Breakthrough Listen - E.T. Signal Search"
  category     = "signal-processing"
  complexity   = "medium"
  opened       = "2021-05-10"
  closed       = "2021-08-19"
  size_gb      = 156.02
  metric_name  = "auc-roc"
  sample_score = 0.5

  description = <<-EOT
    Find the signals that were added to recordings of a radio telescope that searches for extraterrestrial technology.
    A submission gives the probability that a snippet contains one; the score is the area under the ROC curve.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train_labels.csv"), { test_size = 0.1, random_state = 0 })
      train = parts.train
      test  = parts.test
    }
    public {
      table "train_labels.csv" { rows = train }
      table "sample_submission.csv" { rows = fill(test, ["target"], 0.5) }
      copy "old_leaky_data" {}
      files "train/{first}/{id}.npy" { each = assign(train, { first = substr(train.id, 0, 1) }) }
      files "test/{first}/{id}.npy" {
        from = "train/{first}/{id}.npy"
        each = assign(test, { first = substr(test.id, 0, 1) })
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  mask {
    refuse = "The first characters of an id name the folders of its file, as the description says, so a file would not be where its new id says."
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
}
