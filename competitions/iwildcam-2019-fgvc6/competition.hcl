competition "iwildcam-2019-fgvc6" {
  title        = "iWildCam 2019 - FGVC6"
  category     = "image-classification"
  complexity   = "high"
  kind         = "simple"
  opened       = "2019-03-25"
  closed       = "2019-06-07"
  size_gb      = 46.68
  metric_name  = "macro-f1-score"
  sample_score = 0.02315
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell which animal is in the picture of a camera trap, at places that the training pictures do not show. A submission
    gives a class for every picture; the score is the F1 score averaged over the classes.
  EOT

  source "kaggle" {
    slug = "iwildcam-2019-fgvc6"
    md5  = "a47f19c8dfb20d33aeb65fd3975af2c7"
  }

  reference {
    sha256            = "56cb92ec619f6a93b15ec01ef863b1d145930d3ca4e666d2142238d0da21c6f8"
    obfuscated_sha256 = "3a2afa8995eccb977303ab1fe3df3796bb018207f0680c34dbe1535e9828ae70"
  }

  prepare {
    extract = { "train_images.zip" = "train_images" }
    locals {
      all     = csv("train.csv")
      parts   = train_test_split(unique(all.location), { test_size = 0.1, random_state = 8 })
      train   = where_not_in(all, "location", parts.test)
      is_test = isin(all.location, parts.test)
      test    = filter(all, is_test)
      numbers = filter(sequence(all), is_test)
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = drop(test, "category_id") }
      # The first column, which has no name, is the row in the raw table.
      table "sample_submission.csv" { rows = table({ "" = numbers, Id = test.id, Category = 0 }) }
      archive "train_images.zip" {
        files "{id}.jpg" {
          from = "train_images/{id}.jpg"
          each = train
        }
      }
      archive "test_images.zip" {
        files "{id}.jpg" {
          from = "train_images/{id}.jpg"
          each = test
        }
      }
    }
    private {
      table "test.csv" { rows = test }
      table "answers.csv" { rows = table({ Id = test.id, Category = test.category_id }) }
    }
  }

  grade {
    metric  = "f1"
    id      = "Id"
    targets = ["Category"]
    params  = { average = "macro" }
    cells   = "int"
    require {
      same_rows = true
      columns   = ["Category", "Id"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "2c3d7681f93545d6c811de41fbe2013a"
      "test.csv"              = "7b83b8c770dc4b820ab2c35484f3fc55"
      "train.csv"             = "3e7e01b0c342da6aebda97efae2de0e4"
    }
    private = {
      "answers.csv" = "83006769438332df65e5106e31c5d1fd"
      "test.csv"    = "e81e5aefbfbb046ae5cc5493012f303c"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
