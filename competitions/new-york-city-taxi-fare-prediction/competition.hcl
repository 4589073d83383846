competition "new-york-city-taxi-fare-prediction" {
  title        = "New York City Taxi Fare Prediction"
  category     = "tabular"
  complexity   = "low"
  kind         = "simple"
  opened       = "2018-07-25"
  closed       = "2018-09-25"
  size_gb      = 5.7
  metric_name  = "root-mean-squared-error"
  sample_score = 10.02927
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict the fare of a taxi ride in New York City from where and when it began, where it ended and the number of
    passengers. The score is the root mean squared error in dollars.
  EOT

  source "kaggle" {
    slug = "new-york-city-taxi-fare-prediction"
    md5  = "fe01f4ab11ebb0ee2851754516883070"
  }

  reference {
    sha256            = "2b03adead2ada103004b5a9a78b7b4d52d61c603b5d3dedc7ad180d7102e35e4"
    obfuscated_sha256 = "62279b19a8846479f1dfc69b3d500dbf621a169ab50fe84bb7b9e9e5b1fb1cc4"
  }

  param "test_size" {
    default     = 9914
    description = "number of rides in the test part"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = param.test_size, random_state = 0 })
    }
    public {
      table "labels.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "fare_amount") }
      table "sample_submission.csv" { rows = table({ key = parts.test.key, fare_amount = 11.35 }) }
      copy "GCP-Coupons-Instructions.rtf" { from = "GCP-Coupons-Instructions.rtf" }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "rmse"
    id      = "key"
    targets = ["fare_amount"]
    require {
      columns = ["fare_amount", "key"]
    }
  }

  checksums {
    public = {
      "labels.csv"            = "b1aa60e8d6ca817c18b23bd00e4a2500"
      "sample_submission.csv" = "10c791174db974943c1c80f38fc86391"
      "test.csv"              = "a7b9d9b7208e9b7cff6891cfd56a0053"
    }
    private = {
      "test.csv" = "f51d45e95bcd7565f1175206e604506e"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
