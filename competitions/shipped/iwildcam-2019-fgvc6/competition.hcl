competition "iwildcam-2019-fgvc6" {
  title        = "iWildCam 2019 - FGVC6"
  category     = "image-classification"
  complexity   = "high"
  opened       = "2019-03-25"
  closed       = "2019-06-07"
  size_gb      = 46.68
  metric_name  = "macro-f1-score"
  sample_score = 0.02315
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict which animal is in the image of a camera trap, at locations that are not in the training images. A
    submission gives a class for every image; the score is the F1 score averaged over the classes.
  EOT

  public_labels "Caltech Camera Traps" {
    url       = "https://lila.science/datasets/caltech-camera-traps"
    covers    = "all"
    note      = "The labelled images, from which hidden rows are drawn, are taken from it."
    loaders   = ["caltech_camera_traps"]
    reference = "https://github.com/visipedia/iwildcam_comp/blob/master/2019/readme.md"
  }

  source "kaggle" {}

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
      # The first column, which has no name, is the row number in the raw table.
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

  mask {
    columns = { id = "", file_name = "", seq_id = "" }
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
}
