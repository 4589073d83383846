competition "dogs-vs-cats-redux-kernels-edition" {
  title        = "Dogs vs. Cats Redux: Kernels Edition"
  category     = "image-classification"
  complexity   = "low"
  kind         = "code"
  opened       = "2016-09-02"
  closed       = "2017-03-02"
  size_gb      = 0.85
  metric_name  = "log-loss"
  sample_score = 0.69315
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell dogs from cats in photographs. A submission gives the probability that a picture shows a dog; the score is the
    log loss.
  EOT

  source "kaggle" {
    slug = "dogs-vs-cats-redux-kernels-edition"
    md5  = "73dbbb43cbd91b769244408ff2a4fd6d"
  }

  reference {
    sha256            = "9bdf6af7b3a740c9b360eebcb1d045760854a5e7f69b694ee66d50001c20b942"
    obfuscated_sha256 = "e920760b471819ac75dfd6055aa410813ae1d8e1c9f4c50f5a42cc1c7ff0476e"
  }

  prepare {
    extract = ["train.zip"]
    locals {
      pictures = files("train/*.jpg")
      parts    = train_test_split(pictures, { test_size = 0.1, random_state = 0 })

      animal  = contains_text(parts.train.name, "cat") ? "cat" : "dog"
      train   = assign(parts.train, { new = "${animal}.${cumcount(animal)}.jpg" })
      test    = assign(parts.test, { id = sequence(parts.test, { start = 1 }) })
      is_dog  = contains_text(test.name, "dog") ? 1 : 0
      answers = table({ id = test.id, label = is_dog })
    }
    public {
      table "sample_submission.csv" { rows = fill(answers, ["label"], 0.5) }
      files "train/{new}" {
        from = "{path}"
        each = train
      }
      files "test/{id}.jpg" {
        from = "{path}"
        each = test
      }
      archive "train.zip" {
        files "{new}" {
          from = "{path}"
          each = train
        }
      }
      archive "test.zip" {
        files "{id}.jpg" {
          from = "{path}"
          each = test
        }
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  grade {
    metric  = "log_loss"
    id      = "id"
    targets = ["label"]
    require {
      columns     = ["id", "label"]
      same_id_set = true
      same_rows   = true
      between     = [0, 1]
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "cfe8f41567220b6fcbbdc4eb4df7230f"
    }
    private = {
      "answers.csv" = "98f293fd3f37f967c17aa9263e866c30"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
