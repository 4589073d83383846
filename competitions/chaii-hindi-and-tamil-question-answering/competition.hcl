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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Answer questions in Hindi and Tamil from the Wikipedia article that comes with each. A submission gives the answer, a
    piece of the article, for every question; the score is the mean Jaccard index of the words of given and true answer.
  EOT

  source "kaggle" {
    slug = "chaii-hindi-and-tamil-question-answering"
    md5  = "2766e34372404b2563fae09ddcc95161"
  }

  reference {
    sha256            = "744515f9f04e76873bb828c5da5ba5b494d0c118e59aed28e8fec19fe81c8a3b"
    obfuscated_sha256 = "7e588d4446e4f1b879aa719ffd40c2077b7cee25c961fdb612fbcf772ccb9cfd"
  }

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

  checksums {
    public = {
      "sample_submission.csv" = "772a81a2f11029153ebe965572fd9410"
      "test.csv"              = "f0fe24d3f56320b3d1dae5a66aef0fac"
      "train.csv"             = "b032f44429b21d64a103a3e7f8d61ad0"
    }
    private = {
      "test.csv" = "3ae8b59f0ae28791170f45313fdf0432"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
