competition "petfinder-pawpularity-score" {
  title        = "PetFinder.my - Pawpularity Contest"
  category     = "image-other"
  complexity   = "medium"
  kind         = "code"
  opened       = "2021-09-23"
  closed       = "2022-01-14"
  size_gb      = 1.04
  metric_name  = "root-mean-squared-error"
  sample_score = 37.37587

  description = <<-EOT
    Predict how popular the photograph of a pet is with the visitors of a shelter's web pages, from 1 to 100, from the
    image and twelve facts about it, such as whether it is blurred. A submission gives the popularity of each image;
    the score is the root mean squared error.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      guess = round(random_uniform(parts.test, 1, 100, { random_state = 0 }), 2)
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "Pawpularity") }
      table "sample_submission.csv" { rows = table({ Id = parts.test.Id, Pawpularity = guess }) }
      files "train/{Id}.jpg" { each = parts.train }
      files "test/{Id}.jpg" {
        from = "train/{Id}.jpg"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "rmse"
    id      = "Id"
    targets = ["Pawpularity"]
    require {
      columns  = ["Id", "Pawpularity"]
      between  = [1, 100]
      same_ids = true
    }
  }
}
