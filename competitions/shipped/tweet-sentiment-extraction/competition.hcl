competition "tweet-sentiment-extraction" {
  title        = "Tweet Sentiment Extraction"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-03-23"
  closed       = "2020-06-16"
  size_gb      = 0.003
  metric_name  = "jaccard-similarity"
  sample_score = 0

  description = <<-EOT
    Pick out the words of a tweet that carry its sentiment, which is given as positive, negative or neutral. A submission
    gives the words for each tweet; the score is the mean Jaccard similarity of the sets of words.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      test  = parts.test
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(test, "selected_text") }
      table "sample_submission.csv" { rows = fill(select(test, "textID"), ["selected_text"], "") }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  grade {
    metric   = "jaccard_words"
    id       = "textID"
    targets  = ["selected_text"]
    params   = { both_empty = "refuse" }
    cells    = "filled_text"
    rounding = "python"
    require {
      columns   = ["textID", "selected_text"]
      same_rows = true
      same_ids  = true
    }
  }
}
