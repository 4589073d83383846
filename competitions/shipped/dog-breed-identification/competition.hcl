competition "dog-breed-identification" {
  title        = "Dog Breed Identification"
  category     = "image-classification"
  complexity   = "low"
  opened       = "2017-09-29"
  closed       = "2018-02-26"
  size_gb      = 0.75
  metric_name  = "multi-class-log-loss"
  sample_score = 4.78749

  description = <<-EOT
    Predict which of 120 breeds the dog in a photograph belongs to. A submission gives a probability for every breed;
    the score is the multi-class log loss.
  EOT

  public_labels "Stanford Dogs" {
    url       = "http://vision.stanford.edu/aditya86/ImageNetDogs/"
    covers    = "all"
    note      = "The photographs and breeds are taken from it."
    loaders   = ["stanford_dogs"]
    reference = "description.md"
  }

  source "kaggle" {}

  locals {
    breeds = lines("classes.txt")
  }

  prepare {
    locals {
      parts   = train_test_split(csv("labels.csv"), { test_size = 0.1, random_state = 0 })
      answers = one_hot(select(parts.test, "id", "breed"), "breed", breeds)
    }
    public {
      table "labels.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(answers, breeds, 1 / length(breeds)) }
      files "train/{id}.jpg" { each = parts.train }
      files "test/{id}.jpg" {
        from = "train/{id}.jpg"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = breeds
    require {
      columns     = concat(breeds, ["id"])
      same_rows   = true
      rows_sum_to = 1
      between     = [0, 1]
      same_ids    = true
    }
  }
}
