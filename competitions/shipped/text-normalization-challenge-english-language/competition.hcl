competition "text-normalization-challenge-english-language" {
  title        = "Text Normalization Challenge - English Language"
  category     = "sequence-to-sequence"
  complexity   = "low"
  opened       = "2017-09-05"
  closed       = "2017-11-20"
  size_gb      = 0.01
  metric_name  = "accuracy"
  sample_score = 0.93326
  answers      = "private/answers.csv"
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    Turn written English into the words that a reader would speak: numbers, dates, measures and abbreviations, token by
    token, where most tokens stay as they are. The score is the share of tokens that come out exactly right.
  EOT

  public_labels "Text normalization data" {
    url       = "https://github.com/rwsproat/text-normalization-data"
    covers    = "unknown"
    note      = "It has Wikipedia text with the same normalization."
    loaders   = ["text-normalization-data"]
    reference = "https://arxiv.org/abs/1611.00068"
  }

  source "kaggle" {}

  prepare {
    extract = ["en_train.csv.zip"]
    locals {
      tokens    = csv("en_train.csv")
      sentences = train_test_split(unique(tokens.sentence_id), { test_size = 0.1, random_state = 0 })

      old_train = where_in(tokens, "sentence_id", sentences.train)
      old_test  = where_in(tokens, "sentence_id", sentences.test)

      train = assign(old_train, { sentence_id = ngroup(old_train.sentence_id, { sort = false }) })
      test  = assign(old_test, { sentence_id = ngroup(old_test.sentence_id, { sort = false }) })

      id      = "${test.sentence_id}_${test.token_id}"
      sample  = table({ id = id, after = test.before })
      public  = { train = train, test_2 = drop(test, "class", "after"), sample_submission_2 = sample }
      private = { answers = table({ id = id, after = test.after }), sample_submission = sample }
    }
    public {
      archive "en_{each.key}.csv.zip" {
        for_each = ["train", "test_2", "sample_submission_2"]
        store    = true
        table "en_{each.key}.csv" {
          rows  = public[each.key]
          quote = "nonnumeric"
        }
      }
    }
    private {
      table "{each.key}.csv" {
        for_each = ["answers", "sample_submission"]
        rows     = private[each.key]
        quote    = "nonnumeric"
      }
    }
  }

  mask {
    columns = { id = "^[0-9]+", sentence_id = "" }
  }

  grade {
    metric  = "accuracy"
    id      = "id"
    targets = ["after"]
    cells   = "text"
    require {
      same_rows = true
      columns   = ["after", "id"]
      same_ids  = true
    }
  }

  lint {
    allow "layout" {
      reason = "The reference reads the sample submission from private; agents get it as public/en_sample_submission_2.csv.zip."
    }
    allow "sample-answers" {
      column = "after"
      reason = "The sample leaves every token as it is written, which is correct for most of them and known to agents anyway."
    }
  }
}
