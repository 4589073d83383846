competition "ventilator-pressure-prediction" {
  title        = "Google Brain - Ventilator Pressure Prediction"
  category     = "forecasting"
  complexity   = "medium"
  opened       = "2021-09-22"
  closed       = "2021-11-03"
  size_gb      = 0.7
  metric_name  = "dice-hausdorff-combo"
  sample_score = 17.65486

  description = <<-EOT
    Predict the pressure in the airway of an artificial lung at each step of a breath, from the settings of the
    ventilator's valves and two properties of the lung. A submission gives the pressure for each step; the score is
    the mean absolute error over the inspiratory steps.
  EOT

  source "kaggle" {}

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

  mask {
    columns = { breath_id = "" }
    order   = "breath_id" # the steps of a breath stay in order
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
}
