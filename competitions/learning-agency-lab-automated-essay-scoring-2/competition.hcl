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
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Grade essays written by pupils from 1 to 6, as a trained reader would, from their text alone. A submission gives a whole
    number for each essay; the score is the quadratically weighted kappa between it and the reader's grade.
  EOT

  source "kaggle" {
    slug = "learning-agency-lab-automated-essay-scoring-2"
    md5  = "392ed5c55e47ebac98f6d4d529b97f50"
  }

  reference {
    sha256            = "c11986179a042c909be5ab23275650f66160d7916ad229e133ca3f2af493cbed"
    obfuscated_sha256 = "7864e1f560cc8e87e9426e848c68a6519bdb7d186c2fa8d9c7a1a768c2179aa3"
  }

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
    reason    = "The leaderboard is crowded: gold and bronze are 0.13 % apart, and 88 teams stand within a step of rounding of silver. No preparation mends that; v2 has the data and the score of v1, and its reports say how many teams stand within a step of rounding."
    reference = "https://github.com/openai/mle-bench/blob/783b15af77404fbaffe7255b0c4a934b46153389/mlebench/competitions/learning-agency-lab-automated-essay-scoring-2/leaderboard.csv"
    flags     = ["crowded"]
  }

  checksums {
    public = {
      "sample_submission.csv" = "e62f0d933304a49b8af9c110ad0214e2"
      "test.csv"              = "04a299576e54a568db57c9a252e9ea0b"
      "train.csv"             = "8288235ab42c523d4a3c32498e307807"
    }
    private = {
      "answers.csv" = "834401684a4041881fe174146dfb54c5"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
