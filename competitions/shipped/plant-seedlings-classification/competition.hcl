competition "plant-seedlings-classification" {
  title        = "Plant Seedlings Classification"
  complexity   = "dev"
  metric_name  = "micro-f1-score"
  sample_score = 0.07057
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict which of twelve species a seedling belongs to, from a photograph taken at an early stage of growth; some
    are crops, some weeds. The score is the micro-averaged F1, which here equals the accuracy.
  EOT

  public_labels "Plant Seedlings" {
    url       = "https://vision.eng.au.dk/plant-seedlings-dataset/"
    covers    = "all"
    note      = "The photographs and species are taken from it."
    loaders   = ["plant_seedlings"]
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    locals {
      pictures = files("train/*/*.png")
      parts    = train_test_split(table({ file = pictures.name, species = pictures.folder }), { test_size = 0.14, random_state = 0 })
    }
    public {
      table "sample_submission.csv" { rows = fill(parts.test, ["species"], "Sugar beet") }
      files "train/{species}/{file}" { each = parts.train }
      files "test/{file}" {
        from = "train/{species}/{file}"
        each = parts.test
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "f1"
    params  = { average = "micro" }
    id      = "file"
    targets = ["species"]
    cells   = "list"
    require {
      columns   = ["file", "species"]
      same_rows = true
      same_ids  = true
    }
  }
}
