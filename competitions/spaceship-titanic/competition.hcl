competition "spaceship-titanic" {
  title        = "Spaceship Titanic"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "accuracy"
  sample_score = 0.50345
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    A space liner hit an anomaly and about half of its passengers were transported elsewhere. From a passenger's record
    (home planet, cabin, age, spending on board …) tell whether that happened to them. The score is the share of
    passengers told rightly.
  EOT

  source "kaggle" {
    slug = "spaceship-titanic"
    md5  = "67c177886736583aff9b947e121395a9"
  }

  reference {
    sha256            = "ee35380587404b263ef8b38d9a2fff4196563abb2e12bc086b02c9808b7f37cb"
    obfuscated_sha256 = "c7a980e086d8b4ceb7ac05405206ba0b8ce5dad25887978586caaf3ffef448e9"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "Transported") }
      table "sample_submission.csv" { rows = table({ PassengerId = parts.test.PassengerId, Transported = false }) }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "PassengerId"
    targets = ["Transported"]
    require {
      same_rows = true
      columns   = ["Transported", "PassengerId"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "5414b5da6ebcff454de1c9ed39b73774"
      "test.csv"              = "8186bd4048aece25f1ed45708f8f34e1"
      "train.csv"             = "564a1614ecef9d9611cec4efdce4c412"
    }
    private = {
      "test.csv" = "1cb99c65efecaba968128577722a83ef"
    }
    manifest = "c6b492353c345d80e6a8f8401551f3aba882eaee667c0b6f267923502c682d28"
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
