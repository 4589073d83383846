competition "new-york-city-taxi-fare-prediction" {
  title        = "New York City Taxi Fare Prediction"
  category     = "tabular"
  complexity   = "low"
  opened       = "2018-07-25"
  closed       = "2018-09-25"
  size_gb      = 5.7
  metric_name  = "root-mean-squared-error"
  sample_score = 10.02927

  description = <<-EOT
    Predict the fare of a taxi ride in New York City from where and when it began, where it ended and the number of
    passengers. The score is the root mean squared error in dollars.
  EOT

  public_labels "BigQuery copy" {
    url       = "https://bigquery.cloud.google.com/dataset/cloud-training-demos:taxifare_kaggle"
    covers    = "all"
    note      = "It has the training data, from which hidden rows are drawn."
    loaders   = ["cloud-training-demos.taxifare_kaggle"]
    reference = "description.md"
  }

  public_labels "TLC trip records" {
    url       = "https://www.nyc.gov/site/tlc/about/tlc-trip-record-data.page"
    covers    = "unknown"
    note      = "It has the fare of each taxi trip in these years."
    loaders   = ["nyc-tlc"]
    reference = "https://www.nyc.gov/site/tlc/about/tlc-trip-record-data.page"
  }

  source "kaggle" {}

  param "test_size" {
    default     = 9914
    rehearsal   = 100
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
      copy "GCP-Coupons-Instructions.rtf" {}
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  validation {
    share = "9914 rows"
    locals {
      rides = csv("labels.csv")
      parts = train_test_split(rides, { test_size = min(param.test_size, ceil(length(rides) / 10)), random_state = 0 })
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
}
