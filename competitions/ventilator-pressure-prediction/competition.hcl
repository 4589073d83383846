competition "ventilator-pressure-prediction" {
  title        = "Google Brain - Ventilator Pressure Prediction"
  category     = "forecasting"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2021-09-22"
  closed       = "2021-11-03"
  size_gb      = 0.7
  metric_name  = "dice-hausdorff-combo"
  sample_score = 17.65486
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict the pressure in the airway of an artificial lung at each step of a breath, from how the valves of the ventilator
    are set and two properties of the lung. A submission gives the pressure for each step; the score is the mean absolute
    error over the steps of breathing in.
  EOT

  source "kaggle" {
    slug = "ventilator-pressure-prediction"
    md5  = "dd04f45fe8aaa3608c7cfb17adeaa98a"
  }

  reference {
    sha256            = "1ab40a54a4acabbfedcad897b9a8d0e349c309dec78a578e5a48b3ed5687dbf0"
    obfuscated_sha256 = "67869031432849de050dbf562d6052c5d28d76009fa461d356e1e61b9a401167"
  }

  prepare {
    locals {
      all = csv("train.csv", { types = {
        id        = "int"
        breath_id = "int"
        R         = "int"
        C         = "int"
        time_step = "float"
        u_in      = "float"
        u_out     = "int"
        pressure  = "float"
      } })
      breaths   = train_test_split(sort(unique(all.breath_id)), { test_size = 0.1, random_state = 0 })
      old_train = take_groups(all, "breath_id", breaths.train)
      old_test  = take_groups(all, "breath_id", breaths.test)
      train     = assign(old_train, { id = sequence(old_train, { start = 1 }) })
      test      = assign(old_test, { id = sequence(old_test, { start = 1 }) })
    }
    public {
      table "train.csv" {
        rows         = train
        float_format = "%.10g"
      }
      table "test.csv" {
        rows         = drop(test, "pressure")
        float_format = "%.10g"
      }
      table "sample_submission.csv" { rows = table({ id = test.id, pressure = 0 }) }
    }
    private {
      table "test.csv" {
        rows         = test
        float_format = "%.10g"
      }
    }
  }

  grade {
    metric  = "mae"
    id      = "id"
    targets = ["pressure"]
    only    = { column = "u_out", equals = 0 }
    require {
      columns   = ["id", "pressure"]
      same_rows = true
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "6ab5162be2a03922cfc6068befc31c22"
      "test.csv"              = "39c126e1ac7b2e6641ec54f698b1ebdf"
      "train.csv"             = "4b0aaa1c637a452d5d1109aa585bca9f"
    }
    private = {
      "test.csv" = "ef4ebee21345154a7cdfbec0606db01a"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
