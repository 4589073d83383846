competition "lmsys-chatbot-arena" {
  title        = "LMSYS - Chatbot Arena Human Preference Predictions"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2024-05-02"
  closed       = "2024-08-05"
  size_gb      = 0.18
  metric_name  = "multi-class-log-loss"
  sample_score = 1.09861
  answers      = "private/answers.csv"

  description = <<-EOT
    Two language models, whose names are hidden, answered the same prompt, and a person said which answer was better
    or that they tied. A submission gives the probability of each of the three outcomes; the score is the log loss.
  EOT

  public_labels "Chatbot Arena human preferences, 55k" {
    url       = "https://huggingface.co/datasets/lmsys/lmsys-arena-human-preference-55k"
    covers    = "all"
    note      = "It is the training data of the competition, from which hidden rows are drawn."
    loaders   = ["lmsys/lmsys-arena-human-preference-55k", "lmarena-ai/arena-human-preference-55k"]
    reference = "https://huggingface.co/datasets/lmsys/lmsys-arena-human-preference-55k"
  }

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      test  = parts.test
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = select(test, "id", "prompt", "response_a", "response_b") }
      table "sample_submission.csv" {
        rows = fill(select(test, "id"), ["winner_model_a", "winner_model_b", "winner_tie"], 1 / 3)
      }
    }
    private {
      table "answers.csv" { rows = test }
    }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = ["winner_model_a", "winner_model_b", "winner_tie"]
    require {
      columns     = ["id", "winner_model_a", "winner_model_b", "winner_tie"]
      same_rows   = true
      between     = [0, 1]
      rows_sum_to = { value = 1, decimals = 6 }
      same_ids    = true
    }
  }
}
