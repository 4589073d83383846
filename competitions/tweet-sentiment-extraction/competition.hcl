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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Pick out the words of a tweet that carry its sentiment, which is given as positive, negative or neutral. A submission
    gives the words for each tweet; the score is the mean Jaccard similarity of the sets of words.
  EOT

  source "kaggle" {
    slug = "tweet-sentiment-extraction"
    md5  = "561dfe47375e6fdd7b36cd507509f1c2"
  }

  reference {
    sha256            = "8f415244b57ea9517a6ef676293c1b32335f351f886a23983e17a49f30895c15"
    obfuscated_sha256 = "5cf9ac50c81f19a4c130e21a9db0119f3458d7c2d0849adcb6b4e5c65a82db5d"
  }

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

  checksums {
    public = {
      "sample_submission.csv" = "0341dc99c0063baba150e1e64d8b5000"
      "test.csv"              = "b52b4f32e127ea49f8f0d218527fa93f"
      "train.csv"             = "4248531bac2a97518a553a38d05355ac"
    }
    private = {
      "test.csv" = "f67a6c60b4b93ad6a7a248a0dfcae16c"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
