competition "leaf-classification" {
  title        = "Leaf Classification"
  category     = "image-classification"
  complexity   = "low"
  kind         = "simple"
  opened       = "2016-07-30"
  closed       = "2017-02-28"
  size_gb      = 0.036
  metric_name  = "multi-class-log-loss"
  sample_score = 4.59512
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell which of 99 plant species a leaf belongs to, from 192 measured features (margin, shape and texture) and a
    black-and-white picture of it. A submission gives a probability for every species; the score is the multi-class log
    loss.
  EOT

  source "kaggle" {
    slug = "leaf-classification"
    md5  = "043bdec7fadb7922978b7484217b6007"
  }

  reference {
    sha256            = "7b57af084dd30eb953dc8aacdf48372b2c190f5118fb2217a2390b82c98092b7"
    obfuscated_sha256 = "481490b6b321f95b1e1f67aa0b64890f9e0a0a6183915418dad7f01fd4a1a584"
  }

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
      files "images/{id}.jpg" {
        from = "images/{id}.jpg"
        each = concat(parts.train.id, parts.test.id)
      }
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

  checksums {
    public = {
      "sample_submission.csv" = "e9fbff4eafce74b4905feffdaa9e5859"
      "test.csv"              = "52a1b1a2b6fb392986b9579dd52036c7"
      "train.csv"             = "02920a969976f89192a3d1c03a30cd2c"
    }
    private = {
      "test.csv" = "028b4798af4eeafc69ab98b22dc2c70a"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
