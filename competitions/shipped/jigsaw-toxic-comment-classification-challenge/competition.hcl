competition "jigsaw-toxic-comment-classification-challenge" {
  title        = "Toxic Comment Classification Challenge"
  category     = "text-classification"
  complexity   = "low"
  opened       = "2017-12-19"
  closed       = "2018-03-20"
  size_gb      = 0.06
  metric_name  = "column-wise ROC AUC"
  sample_score = 0.5

  description = <<-EOT
    Rate comments from talk pages for six kinds of toxicity: toxic, severe toxic, obscene, threat, insult and identity
    hate. A submission gives a probability for each; the score is the mean of the six areas under the ROC curve.
  EOT

  public_labels "Wikipedia toxicity subtypes" {
    url       = "https://www.tensorflow.org/datasets/catalog/wikipedia_toxicity_subtypes"
    covers    = "all"
    note      = "It replicates the training data and the scored test data."
    loaders   = ["wikipedia_toxicity_subtypes", "jigsaw_toxicity_pred", "google/jigsaw_toxicity_pred"]
    reference = "https://www.tensorflow.org/datasets/catalog/wikipedia_toxicity_subtypes"
  }

  source "kaggle" {}

  locals {
    labels = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
  }

  prepare {
    extract = ["train.csv.zip", "test.csv.zip", "test_labels.csv.zip", "sample_submission.csv.zip"]
    public {
      table "train.csv" { rows = csv("train.csv") }
      table "test.csv" { rows = csv("test.csv") }
      table "sample_submission.csv" { rows = fill(csv("sample_submission.csv"), labels, 0.5) }
    }
    private {
      table "test.csv" { rows = csv("test_labels.csv") }
    }
  }

  validation {
    note = "The competition's test is another file; a fifth of the training comments are held out."
    prepare {
      locals {
        parts = train_test_split(csv("train.csv"), { test_size = 0.2, random_state = 0 })
      }
      public {
        table "train.csv" { rows = parts.train }
        table "test.csv" { rows = select(parts.test, "id", "comment_text") }
        table "sample_submission.csv" { rows = fill(select(parts.test, concat(["id"], labels)), labels, 0.5) }
      }
      private {
        table "test.csv" { rows = select(parts.test, concat(["id"], labels)) }
      }
    }
  }

  grade {
    metric     = "roc_auc"
    id         = "id"
    targets    = labels
    targets_by = "place"
    only       = { sum = labels, at_least = 0 }
    require {
      columns   = concat(["id"], labels)
      same_rows = true
    }
  }

  errata "v2" {
    reason    = "The leaderboard is crowded: gold and bronze are so close that the medal depends on the last digits. No preparation can fix that; v2 has the data and the score of v1, and its reports say how many teams lie within a rounding step."
    reference = "https://github.com/openai/mle-bench#known-issues"
    flags     = ["crowded"]
  }
}
