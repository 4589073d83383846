competition "jigsaw-unintended-bias-in-toxicity-classification" {
  title        = "Jigsaw Unintended Bias in Toxicity Classification"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2019-03-29"
  closed       = "2019-07-18"
  size_gb      = 2.4
  metric_name  = "jigsaw-unintended-bias-in-toxicity-classification-score"
  sample_score = 0.5

  description = <<-EOT
    Predict whether a comment is toxic without mistaking the mention of a group of people for toxicity. A submission
    gives the probability for every comment; the score combines the area under the ROC curve over all comments with
    those over the comments that mention each of nine identities.
  EOT

  public_labels "Civil Comments" {
    url       = "https://figshare.com/articles/data_json/7376747"
    covers    = "all"
    note      = "The comments come from this archive; its copies for loaders have the toxicity, too."
    loaders   = ["civil_comments", "google/civil_comments", "jigsaw_unintended_bias", "google/jigsaw_unintended_bias"]
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    locals {
      test = csv("test_private_expanded.csv")
    }
    public {
      copy "train.csv" {}
      table "test.csv" { rows = select(test, "id", "comment_text") }
      table "sample_submission.csv" { rows = table({ id = test.id, prediction = real(0) }) }
    }
    private {
      copy "test.csv" { from = "test_private_expanded.csv" }
    }
  }

  validation {
    note = "The competition's test is another file; a fifth of the training comments are held out."
    prepare {
      locals {
        parts = train_test_split(csv("train.csv"), { test_size = 0.2, random_state = 0 })
        test  = rename(parts.test, { target = "toxicity" })
      }
      public {
        table "train.csv" { rows = parts.train }
        table "test.csv" { rows = select(test, "id", "comment_text") }
        table "sample_submission.csv" { rows = table({ id = test.id, prediction = real(0) }) }
      }
      private {
        table "test.csv" { rows = test }
      }
    }
  }

  grade {
    metric  = "bias_auc"
    params  = { identities = ["male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white", "psychiatric_or_mental_illness"] }
    id      = "id"
    rename  = { toxicity = "prediction" }
    targets = ["prediction"]
    truth   = ["toxicity"]
    require {
      columns  = ["id", "prediction"]
      same_ids = true
    }
  }
}
