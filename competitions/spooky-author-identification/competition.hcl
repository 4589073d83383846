competition "spooky-author-identification" {
  title        = "Spooky Author Identification"
  category     = "text-classification"
  complexity   = "low"
  kind         = "simple"
  opened       = "2017-10-25"
  closed       = "2017-12-15"
  size_gb      = 0.0019
  metric_name  = "multi-class-log-loss"
  sample_score = 1.08468
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell whether a sentence was written by Edgar Allan Poe (EAP), HP Lovecraft (HPL) or Mary Shelley (MWS). A submission
    gives a probability for each; the score is the multi-class log loss.
  EOT

  source "kaggle" {
    slug = "spooky-author-identification"
    md5  = "8f12d4f1f138f3867e881293b9bc54ee"
  }

  reference {
    sha256            = "35d7de46d74377f997bdc7f5859e36ca3311fb4ae2e37ab63491a9d7c72661bd"
    obfuscated_sha256 = "9f436bf99717f3a726d429faa809e2b54651f8726ae3b4a663251625f652abe3"
  }

  locals {
    authors = ["EAP", "HPL", "MWS"]
  }

  prepare {
    extract = ["train.zip"]
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "author") }
      table "sample_submission.csv" {
        rows = table({ id = parts.test.id, EAP = 0.403493538995863, HPL = 0.287808366106543, MWS = 0.308698094897594 })
      }
    }
    private {
      table "test.csv" { rows = one_hot(select(parts.test, "id", "author"), "author", authors) }
    }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = authors
    require {
      same_rows    = true
      column_count = 4
      rows_sum_to  = { value = 1, columns = "after_first" }
      between      = [0, 1]
      columns      = ["id", "EAP", "HPL", "MWS"]
      same_ids     = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "3b754ff50b2b4416150bb00c86c34889"
      "test.csv"              = "2ea5096a8e8cf340b13a7a18d9bdd914"
      "train.csv"             = "1124166bf7b8b1e337a32fe568732447"
    }
    private = {
      "test.csv" = "fb1381c6c9a7e9efd236c625807a0c8a"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
