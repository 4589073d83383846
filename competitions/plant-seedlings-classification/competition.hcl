competition "plant-seedlings-classification" {
  title        = "Plant Seedlings Classification"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "micro-f1-score"
  sample_score = 0.07057
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell which of twelve species a seedling belongs to, from a photograph taken at an early stage of growth; some are
    crops, some weeds. The score is the micro-averaged F1, which here is the share of pictures told rightly.
  EOT

  source "kaggle" {
    slug = "plant-seedlings-classification"
    md5  = "89007a5c7fcec56d3eb66afa89376c76"
  }

  reference {
    sha256            = "30639b1c5df8b1bced0e705cee666a54c458a1d5f42a4ff4d0a51e29ce1be39d"
    obfuscated_sha256 = "8034409abbde6360c80e919be91606299f6a78bf11a032641fb0c23e4c9f287b"
  }

  prepare {
    locals {
      pictures = files("train/*/*.png")
      parts    = train_test_split(table({ file = pictures.name, species = pictures.folder }), { test_size = 0.14, random_state = 0 })
    }
    public {
      table "sample_submission.csv" { rows = fill(parts.test, ["species"], "Sugar beet") }
      files "train/{species}/{file}" {
        from = "train/{species}/{file}"
        each = parts.train
      }
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

  checksums {
    public = {
      "sample_submission.csv" = "e993f1a8a6b576a5401e027154a5cbac"
    }
    private = {
      "answers.csv" = "89d5dba3d48b22669f108f6a3bc10e0f"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
