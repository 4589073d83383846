competition "movie-review-sentiment-analysis-kernels-only" {
  title        = "Movie Review Sentiment Analysis (Kernels Only)"
  complexity   = "dev"
  kind         = "code"
  metric_name  = "accuracy"
  sample_score = 0.51314
  answers      = "private/answers.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Rate the sentiment of phrases cut from movie reviews, from 0 (negative) to 4 (positive). The score is the share of
    phrases rated rightly.
  EOT

  source "kaggle" {
    slug = "movie-review-sentiment-analysis-kernels-only"
    md5  = "297ae2983c4a07603ed2fd31613c1b5e"
  }

  reference {
    sha256            = "46a6f4a12d74b7d1dd244a3ea4219ccd00ad8e1d9d58af79dd00db272d430d92"
    obfuscated_sha256 = "b85fc94465bcb108b9be846e903c6b0a4f3c1d37088e510c2b739b1df7dfe9c7"
  }

  prepare {
    extract = ["train.tsv.zip"]
    locals {
      parts = train_test_split(csv("train.tsv", { separator = "\t", floats = "fast" }), { test_size = 0.3, random_state = 0 })
    }
    public {
      archive "train.tsv.zip" {
        table "train.tsv" {
          rows      = parts.train
          separator = "\t"
        }
      }
      archive "test.tsv.zip" {
        table "test.tsv" {
          rows      = drop(parts.test, "Sentiment")
          separator = "\t"
        }
      }
      table "sampleSubmission.csv" { rows = table({ PhraseId = parts.test.PhraseId, Sentiment = 2 }) }
    }
    private {
      table "answers.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "PhraseId"
    targets = ["Sentiment"]
    require {
      same_rows = true
      columns   = ["Sentiment", "PhraseId"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sampleSubmission.csv" = "2da66116279038cc280e8cafcb27a6ea"
    }
    private = {
      "answers.csv" = "82f44bb7f0a1b075afdadfd356c3644b"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
