competition "text-normalization-challenge-russian-language" {
  title        = "Text Normalization Challenge - Russian Language"
  category     = "sequence-to-sequence"
  complexity   = "low"
  kind         = "simple"
  opened       = "2017-09-05"
  closed       = "2017-11-20"
  size_gb      = 0.01
  metric_name  = "accuracy"
  sample_score = 0.87501
  answers      = "private/answers.csv"
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    Turn written Russian into the words that a reader would speak: numbers, dates, measures and abbreviations, token by
    token, where most tokens stay as they are. The score is the share of tokens that come out exactly right.
  EOT

  source "kaggle" {
    slug = "text-normalization-challenge-russian-language"
    md5  = "cbe64d0eb83f22f1838806121fc5c6e2"
  }

  reference {
    sha256            = "fb6eff07eae86287a6bf6d76bf7d79f3b3d2db4f2d1d6a2579bcaf1fbc602710"
    obfuscated_sha256 = "217e3b5d7f0b4540f1573d55944109da3c02aea255e3ac3bfc0528ed2a81a8bc"
  }

  prepare {
    extract = ["ru_train.csv.zip"]
    locals {
      tokens    = csv("ru_train.csv")
      sentences = train_test_split(unique(tokens.sentence_id), { test_size = 0.1, random_state = 0 })

      old_train = where_in(tokens, "sentence_id", sentences.train)
      old_test  = where_in(tokens, "sentence_id", sentences.test)

      train = assign(old_train, { sentence_id = ngroup(old_train.sentence_id, { sort = false }) })
      test  = assign(old_test, { sentence_id = ngroup(old_test.sentence_id, { sort = false }) })

      id     = "${test.sentence_id}_${test.token_id}"
      sample = table({ id = id, after = test.before })
    }
    public {
      archive "ru_train.csv.zip" {
        store = true
        table "ru_train.csv" {
          rows  = train
          quote = "nonnumeric"
        }
      }
      archive "ru_test_2.csv.zip" {
        store = true
        table "ru_test_2.csv" {
          rows  = drop(test, "class", "after")
          quote = "nonnumeric"
        }
      }
      archive "ru_sample_submission_2.csv.zip" {
        store = true
        table "ru_sample_submission_2.csv" {
          rows  = sample
          quote = "nonnumeric"
        }
      }
    }
    private {
      table "answers.csv" {
        rows  = table({ id = id, after = test.after })
        quote = "nonnumeric"
      }
      table "sample_submission.csv" {
        rows  = sample
        quote = "nonnumeric"
      }
    }
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
      reason = "The reference takes the sample submission from private; agents get it as public/ru_sample_submission_2.csv.zip."
    }
    allow "sample-answers" {
      column = "after"
      reason = "The sample leaves every token as it is written, which is right for most of them and known to agents anyway."
    }
  }

  checksums {
    private = {
      "answers.csv"           = "22913afbc4db4599fa201655efb4906b"
      "sample_submission.csv" = "d815d621314754ed7b886b5d16f91d93"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
