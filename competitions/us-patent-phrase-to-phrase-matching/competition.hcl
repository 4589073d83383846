competition "us-patent-phrase-to-phrase-matching" {
  title       = "U.S. Patent Phrase to Phrase Matching"
  category    = "text-other"
  complexity  = "medium"
  kind        = "code"
  opened      = "2022-03-21"
  closed      = "2022-06-20"
  size_gb     = 0.00214
  metric_name = "pearson-correlation-coefficient"
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"

  description = <<-EOT
    Say how alike two phrases from patents are in meaning, from 0 to 1, within a field of technology. A submission gives the
    similarity for each pair; the score is Pearson's correlation with what experts said.
  EOT

  source "kaggle" {
    slug = "us-patent-phrase-to-phrase-matching"
    md5  = "e3eae0b5c78ed58de04e1f32e499188a"
  }

  reference {
    sha256            = "c2cc3682177d64f12e3c4d651389d7d6ef50852eaf97ccbcee55f62ebe957f53"
    obfuscated_sha256 = "bf215af4e76dc79efe67db4357332ac310070a794ea9089d0d0530a66122fbb2"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      test  = parts.test
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(test, "score") }
      table "sample_submission.csv" { rows = fill(select(test, "id"), ["score"], 0) }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  grade {
    metric  = "pearson"
    id      = "id"
    targets = ["score"]
    require {
      same_rows = true
      columns   = ["id", "score"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "282590a9bcbf32edf5d351a40a30c6a0"
      "test.csv"              = "ea1dccd31666f938f0ae7632c69c95c6"
      "train.csv"             = "48042478b2d9a8f36d614589b7ee86e4"
    }
    private = {
      "test.csv" = "34f67932a2c9f49169cdccf5e7bbc57f"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
