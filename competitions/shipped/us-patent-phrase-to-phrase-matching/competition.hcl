competition "us-patent-phrase-to-phrase-matching" {
  title       = "U.S. Patent Phrase to Phrase Matching"
  category    = "text-other"
  complexity  = "medium"
  kind        = "code"
  opened      = "2022-03-21"
  closed      = "2022-06-20"
  size_gb     = 0.00214
  metric_name = "pearson-correlation-coefficient"

  description = <<-EOT
    Predict how similar two phrases from patents are in meaning, from 0 to 1, within a field of technology. A
    submission gives the similarity of each pair; the score is Pearson's correlation with the experts' ratings.
  EOT

  public_labels "Patent phrase similarity" {
    url       = "https://www.kaggle.com/datasets/google/google-patent-phrase-similarity-dataset"
    covers    = "all"
    note      = "It has the scores of all pairs of phrases."
    loaders   = ["google/google-patent-phrase-similarity-dataset"]
    reference = "https://research.google/blog/announcing-the-patent-phrase-similarity-dataset/"
  }

  source "kaggle" {}

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

  validation {
    note = "The sample submission has no score, since it is constant."
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
}
