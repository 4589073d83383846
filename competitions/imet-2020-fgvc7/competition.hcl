competition "imet-2020-fgvc7" {
  title        = "iMet Collection 2020 - FGVC7"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-03-27"
  closed       = "2020-05-28"
  size_gb      = 29.46
  metric_name  = "micro-f1-score"
  sample_score = 6e-05
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the attributes of a work of art in the Metropolitan Museum, such as its country, material and what it shows, from
    a photograph. A submission lists attributes for every picture; the score is the F1 score over all pairs of picture and
    attribute.
  EOT

  source "kaggle" {
    slug = "imet-2020-fgvc7"
    md5  = "5e91584b7f667ed2c267fbc2ee83b335"
  }

  reference {
    sha256            = "474b3c138599cd54f84ad479789f705290288253ef9fd7b2ca4343c8e9bdd86a"
    obfuscated_sha256 = "5988e79fc345fc2b3c1b43b84ad9ef311f046a4c2e493574cd7af4a2cf650b8a"
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.15, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(parts.test, ["attribute_ids"], "0 1 2") }
      copy "labels.csv" { from = "labels.csv" }
      files "train/{id}.png" {
        from = "train/{id}.png"
        each = parts.train
      }
      files "test/{id}.png" {
        from = "train/{id}.png"
        each = parts.test
      }
    }
    private {
      table "answers.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "multilabel_f1"
    id      = "id"
    targets = ["attribute_ids"]
    cells   = "filled"
    require {
      columns   = ["id", "attribute_ids"]
      same_rows = true
      same_ids  = true
    }
  }

  checksums {
    public = {
      "labels.csv"            = "a62c433510585b96a558564fa8f530f4"
      "sample_submission.csv" = "879aa23cfa7947e6c39737615fa7f429"
      "train.csv"             = "ce560adcffe6ee6e9b6da89981f8da2e"
    }
    private = {
      "answers.csv" = "c708435becf1c7679bf09c1746942992"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
