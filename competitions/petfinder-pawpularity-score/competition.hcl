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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Foretell how popular the photograph of a pet is with the visitors of a shelter's pages, a score between 1 and 100, from
    the picture and twelve facts about it, such as whether it is blurred. A submission gives the score for each picture;
    it is judged by the root mean squared error.
  EOT

  source "kaggle" {
    slug = "petfinder-pawpularity-score"
    md5  = "35dd50bacd33ebba746738508e20e276"
  }

  reference {
    sha256            = "7276f65742c36492e0fe4a8c5065ae95ac75e3f38718091c1d236229da93c35b"
    obfuscated_sha256 = "b3579677ddc268b5612b571d4eb5cb25467c6754cd6cf26e39aa02fc910a940f"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      guess = round(random_uniform(parts.test, 1, 100, { random_state = 0 }), 2)
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, "Pawpularity") }
      table "sample_submission.csv" { rows = table({ Id = parts.test.Id, Pawpularity = guess }) }
      files "train/{Id}.jpg" {
        from = "train/{Id}.jpg"
        each = parts.train
      }
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

  checksums {
    public = {
      "sample_submission.csv" = "569c9d854c4242c647c421e0b003b915"
      "test.csv"              = "7c709809dbba57d5fd14a9a3f9abc240"
      "train.csv"             = "619372a40df4773bcae08197ede2fab7"
    }
    private = {
      "test.csv" = "da4c520ad07c54f8a67b8b414bc368e9"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
