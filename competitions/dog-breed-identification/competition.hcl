competition "dog-breed-identification" {
  title        = "Dog Breed Identification"
  category     = "image-classification"
  complexity   = "low"
  kind         = "simple"
  opened       = "2017-09-29"
  closed       = "2018-02-26"
  size_gb      = 0.75
  metric_name  = "multi-class-log-loss"
  sample_score = 4.78749
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell which of 120 breeds the dog in a photograph belongs to. A submission gives a probability for every breed; the
    score is the multi-class log loss.
  EOT

  source "kaggle" {
    slug = "dog-breed-identification"
    md5  = "e01b86f22c3573af92b0682a13d5b8d2"
  }

  reference {
    sha256            = "40d0cf3c4168a17f3196d4743316d363274942134cd291a28d7295da6b408bbe"
    obfuscated_sha256 = "72ed2884ac65da0992dec606b0f028241e4c670e3897c19a21305f476d86983c"
  }

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
      files "train/{id}.jpg" {
        from = "train/{id}.jpg"
        each = parts.train
      }
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

  checksums {
    public = {
      "labels.csv"            = "0ab1a234cd6b80e9efd617e305a4eda5"
      "sample_submission.csv" = "30c85225fcd6e22dc51a7d94a333575f"
    }
    private = {
      "test.csv" = "83d0c48056db066d07102ee13aaecc08"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
