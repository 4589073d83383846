competition "spaceship-titanic" {
  title        = "Spaceship Titanic"
  complexity   = "dev"
  metric_name  = "accuracy"
  sample_score = 0.50345

  description = <<-EOT
    A space liner hit an anomaly and about half of its passengers were transported elsewhere. From a passenger's
    record (home planet, cabin, age, spending on board …) predict whether that happened to them. The score is the
    accuracy.
  EOT

  source "kaggle" {}

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

  mask {
    columns = { PassengerId = "^[0-9]+" } # the group, without the number within it
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
}
