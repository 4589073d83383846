competition "learning-agency-lab-automated-essay-scoring-2" {
  title        = "Learning Agency Lab - Automated Essay Scoring 2.0"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2024-04-02"
  closed       = "2024-07-02"
  size_gb      = 0.036
  metric_name  = "quadratic-weighted-kappa"
  sample_score = 0.01323
  answers      = "private/answers.csv"

  description = <<-EOT
    Grade essays written by students from 1 to 6, as a trained reader would, from their text alone. A submission gives
    an integer for each essay; the score is the quadratically weighted kappa between it and the reader's grade.
  EOT

  public_labels "ASAP 2.0" {
    url       = "https://github.com/scrosseye/ASAP_2.0"
    covers    = "part"
    note      = "It has essays with the same prompts and scores, 12,871 of them from PERSUADE 2.0."
    loaders   = ["ASAP_2_Final_github_train.csv", "persuade_corpus_2.0"]
    reference = "https://github.com/scrosseye/ASAP_2.0"
  }

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      test  = parts.test
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(test, "score") }
      table "sample_submission.csv" {
        rows = table({ essay_id = test.essay_id, score = random_integers(test, 1, 7, { random_state = 42 }) })
      }
    }
    private {
      table "answers.csv" { rows = test }
    }
  }

  grade {
    metric  = "kappa"
    params  = { weights = "quadratic" }
    id      = "essay_id"
    targets = ["score"]
    require {
      columns   = ["score", "essay_id"]
      not_empty = true
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The leaderboard is crowded: gold and bronze are 0.13 % apart, and 88 teams lie within a rounding step of silver. No preparation can fix that; v2 has the data and the score of v1, and its reports say how many teams lie within a rounding step."
    reference = "leaderboard.csv"
    flags     = ["crowded"]
  }
}
