competition "spooky-author-identification" {
  title        = "Spooky Author Identification"
  category     = "text-classification"
  complexity   = "low"
  opened       = "2017-10-25"
  closed       = "2017-12-15"
  size_gb      = 0.0019
  metric_name  = "multi-class-log-loss"
  sample_score = 1.08468

  description = <<-EOT
    Predict whether a sentence was written by Edgar Allan Poe (EAP), HP Lovecraft (HPL) or Mary Shelley (MWS). A
    submission gives a probability for each; the score is the multi-class log loss.
  EOT

  public_labels "Project Gutenberg" {
    url       = "https://www.gutenberg.org/"
    covers    = "part"
    note      = "It has books of the three authors, in which a sentence can be found."
    loaders   = ["gutenberg"]
    reference = "description.md"
  }

  source "kaggle" {}

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
}
