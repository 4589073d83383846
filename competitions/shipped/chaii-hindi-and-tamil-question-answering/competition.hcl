competition "chaii-hindi-and-tamil-question-answering" {
  title        = "Hindi and Tamil Question Answering"
  category     = "training-llms"
  complexity   = "medium"
  kind         = "code"
  opened       = "2021-08-11"
  closed       = "2021-11-15"
  size_gb      = 0.032
  metric_name  = "word-level-jaccard-score"
  sample_score = 0

  description = <<-EOT
    Answer questions in Hindi and Tamil from the Wikipedia article that comes with each. A submission gives the
    answer, a piece of the article, for every question; the score is the mean Jaccard index of the words of the
    predicted and the true answer.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts   = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      answers = rename(select(parts.test, "id", "answer_text"), { answer_text = "PredictionString" })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "answer_start", "answer_text") }
      table "sample_submission.csv" { rows = fill(answers, ["PredictionString"], "dummy text") }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  grade {
    metric  = "jaccard_words"
    id      = "id"
    targets = ["PredictionString"]
    cells   = "filled"
    require {
      same_rows = true
      columns   = ["PredictionString", "id"]
      same_ids  = true
    }
  }
}
