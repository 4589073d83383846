competition "google-quest-challenge" {
  title        = "Google QUEST Q&A Labeling"
  category     = "training-llms"
  complexity   = "medium"
  kind         = "code"
  opened       = "2019-11-22"
  closed       = "2020-02-10"
  size_gb      = 0.015
  metric_name  = "column-wise-spearman"
  sample_score = -0.01016

  description = <<-EOT
    Rate questions and answers from question-and-answer sites as people did, on thirty qualities such as how well a
    question is written or how helpful its answer is. A submission gives a number between 0 and 1 for each quality;
    the score is Spearman's rank correlation, averaged over the qualities.
  EOT

  source "kaggle" {}

  locals {
    classes = lines("classes.txt")

    # Whether all answers to a question are in the same part: see the errata.
    split_questions = false
  }

  prepare {
    locals {
      all       = csv("train.csv")
      questions = train_test_split(unique(all.url), { test_size = 0.1, random_state = 0 })
      parts = split_questions ? {
        train = where_in(all, "url", questions.train)
        test  = where_in(all, "url", questions.test)
      } : train_test_split(all, { test_size = 0.1, random_state = 0 })

      # Questions about spelling are rare. Where the test has only one value, and so no rank correlation is defined, its
      # first row is swapped with the first training row whose value is not 0.
      spelling = parts.test.question_type_spelling
      varies   = length(unique(filter(spelling, spelling == spelling))) != 1
      first    = varies ? 0 : list(filter(sequence(parts.train), parts.train.question_type_spelling != 0))[0]
      train = varies ? parts.train : concat(
        head(parts.train, first), head(parts.test, 1), skip(parts.train, first + 1),
      )
      test = varies ? parts.test : concat(
        skip(head(parts.train, first + 1), first), skip(parts.test, 1),
      )
      answers = select(test, "qa_id", classes)
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = drop(test, classes) }
      table "sample_submission.csv" { rows = fill(answers, classes, linspace(answers, 0, 1)) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  validation {
    kind = "random"
    note = "In v2 all answers to a question are in one part."
  }

  grade {
    metric  = "spearman"
    id      = "qa_id"
    targets = classes
    require {
      columns      = concat(["qa_id"], classes)
      column_count = true
      same_rows    = true
    }
  }

  errata "v2" {
    reason    = "Questions with several answers are in both parts, so that the training rows of a question reveal two thirds of the qualities of its test rows; the original test set repeated none of its questions. v2 splits by question, identified by its URL, instead of by row."
    reference = "prepare.py"
    locals {
      split_questions = true
    }
  }
}
