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

  description = <<-EOT
    Predict whether a photograph shows a dog or a cat. A submission gives the probability that an image shows a dog;
    the score is the log loss.
  EOT

  public_labels "Cats vs dogs (Asirra)" {
    url       = "https://www.microsoft.com/en-us/download/details.aspx?id=54765"
    covers    = "part"
    note      = "It has photographs of the same collection, by species."
    loaders   = ["cats_vs_dogs", "microsoft/cats_vs_dogs", "kagglecatsanddogs"]
    reference = "https://huggingface.co/datasets/microsoft/cats_vs_dogs"
  }

  source "kaggle" {}

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
}
