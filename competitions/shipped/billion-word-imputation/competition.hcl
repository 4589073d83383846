competition "billion-word-imputation" {
  title        = "Billion Word Imputation"
  category     = "training-llms"
  complexity   = "medium"
  opened       = "2014-05-08"
  closed       = "2015-05-01"
  size_gb      = 1.7
  metric_name  = "levenshtein-distance"
  sample_score = 5.56118
  sample       = "private/sample_submission.csv"

  description = <<-EOT
    One word, neither the first nor the last, was removed from each sentence of a large corpus. Put it back. A
    submission gives the whole sentences; the score is the mean edit distance to the original ones.
  EOT

  public_labels "One Billion Word Benchmark" {
    url       = "https://www.statmt.org/lm-benchmark/"
    covers    = "all"
    note      = "It has the complete sentences, in which the removed words can be read."
    loaders   = ["lm1b"]
    reference = "description.md"
  }

  source "kaggle" {}

  param "lines" {
    default     = 30301028
    rehearsal   = 3000
    description = "number of lines of the corpus that are used"
  }

  prepare {
    extract = ["train_v2.txt.zip"]
    locals {
      lines     = head(stream_lines("train_v2.txt"), param.lines)
      drawn     = draw_cloze(lines, 0.01, { random_state = 0 })
      sentences = strip(drawn.line)
      answers   = table({ id = sequence(drawn), sentence = sentences })
      given     = assign(answers, { sentence = remove_word(sentences, drawn.word) })
    }
    public {
      archive "train_v2.txt.zip" {
        text "train_v2.txt" { lines = omit(lines, drawn.position) }
      }
      archive "test_v2.txt.zip" {
        table "test_v2.txt" {
          rows  = given
          quote = "nonnumeric"
        }
      }
    }
    private {
      table "test.csv" {
        rows  = answers
        quote = "nonnumeric"
      }
      table "sample_submission.csv" {
        rows  = given
        quote = "nonnumeric"
      }
    }
  }

  validation {
    kind  = "random"
    share = "0.01"
  }

  mask {
    tables = ["test_v2.txt"]
  }

  grade {
    metric  = "levenshtein"
    id      = "id"
    targets = ["sentence"]
    require {
      columns   = ["id", "sentence"]
      same_rows = true
      same_ids  = true
    }
  }

  lint {
    allow "layout" {
      file   = "private/sample_submission.csv"
      reason = "The reference keeps the sample beside the answers; agents see the same sentences in test_v2.txt.zip."
    }
  }
}
