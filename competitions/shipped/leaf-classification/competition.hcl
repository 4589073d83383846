competition "leaf-classification" {
  title        = "Leaf Classification"
  category     = "image-classification"
  complexity   = "low"
  opened       = "2016-07-30"
  closed       = "2017-02-28"
  size_gb      = 0.036
  metric_name  = "multi-class-log-loss"
  sample_score = 4.59512

  description = <<-EOT
    Predict which of 99 plant species a leaf belongs to, from 192 measured features (margin, shape and texture) and a
    black-and-white image of it. A submission gives a probability for every species; the score is the multi-class log
    loss.
  EOT

  public_labels "One-hundred plant species leaves" {
    url       = "https://archive.ics.uci.edu/dataset/241/one+hundred+plant+species+leaves+data+set"
    covers    = "all"
    note      = "It has the same leaves, with one species more."
    loaders   = ["one-hundred-plants-margin", "one-hundred-plants-shape", "one-hundred-plants-texture"]
    reference = "description.md"
  }

  source "kaggle" {}

  locals {
    species = lines("classes.txt")
  }

  prepare {
    extract = ["train.csv.zip", "images.zip"]
    locals {
      parts   = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      answers = one_hot(select(parts.test, "id", "species"), "species", species)
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "species") }
      table "sample_submission.csv" { rows = fill(answers, species, 1 / length(species)) }
      files "images/{id}.jpg" { each = concat(parts.train.id, parts.test.id) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = species
    require {
      exact_columns = true
      same_rows     = true
      rows_sum_to   = 1
      between       = [0, 1]
      same_ids      = true
    }
  }
}
