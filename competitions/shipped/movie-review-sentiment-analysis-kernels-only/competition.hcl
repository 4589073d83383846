competition "movie-review-sentiment-analysis-kernels-only" {
  title        = "Movie Review Sentiment Analysis (Kernels Only)"
  complexity   = "dev"
  kind         = "code"
  metric_name  = "accuracy"
  sample_score = 0.51314
  answers      = "private/answers.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Rate the sentiment of phrases cut from movie reviews, from 0 (negative) to 4 (positive). The score is the
    accuracy.
  EOT

  public_labels "Stanford Sentiment Treebank" {
    url       = "https://nlp.stanford.edu/sentiment/"
    covers    = "all"
    note      = "The phrases and their five sentiments are taken from it."
    loaders   = ["sst", "stanfordnlp/sst"]
    reference = "description.md"
  }

  source "kaggle" {}

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

  mask {
    columns = { SentenceId = "" }
    order   = "SentenceId" # the phrases of a sentence stay together
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
}
