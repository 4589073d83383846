competition "facebook-recruiting-iii-keyword-extraction" {
  title        = "Facebook Recruiting III - Keyword Extraction"
  category     = "text-classification"
  complexity   = "medium"
  opened       = "2013-08-30"
  closed       = "2013-12-20"
  size_gb      = 3.2
  metric_name  = "micro-f1-score"
  sample_score = 0.07645

  description = <<-EOT
    Predict the tags of a question on a question-and-answer site from its title and body. A submission gives the tags
    of each question, separated by spaces; the score is the F1 over all tags of all questions together.
  EOT

  public_labels "Stack Exchange data dump" {
    url       = "https://archive.org/details/stackexchange"
    covers    = "part"
    note      = "It has the questions with their tags, but for those that were deleted or edited since."
    loaders   = ["stackexchange"]
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    extract = ["Train.zip"]
    locals {
      parts     = train_test_split(csv("Train.csv", { types = { Id = "text", Tags = "text" } }), { test_size = 0.1, random_state = 0 })
      questions = drop(parts.test, "Tags")
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = questions }
      table "sample_submission.csv" { rows = fill(questions, ["Tags"], "javascript c# python php java") }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  validation {
    locals {
      parts = train_test_split(csv("train.csv", { types = { Id = "text", Tags = "text" } }), { test_size = 0.1, random_state = 0 })
    }
  }

  grade {
    metric  = "multilabel_f1"
    id      = "Id"
    targets = ["Tags"]
    cells   = "filled"
    require {
      columns   = ["Id", "Tags"]
      same_rows = true
      same_ids  = true
    }
  }
}
