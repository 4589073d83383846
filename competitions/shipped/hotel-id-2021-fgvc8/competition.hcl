competition "hotel-id-2021-fgvc8" {
  title        = "Hotel-ID to Combat Human Trafficking 2021 - FGVC8"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2021-03-10"
  closed       = "2021-05-26"
  size_gb      = 26.65
  metric_name  = "map-at-5"
  sample_score = 0.00232

  description = <<-EOT
    Predict in which hotel a photograph of a room was taken, to help find victims of human trafficking. A submission
    gives up to five hotels for every image, the most likely first; the score is the mean average precision at five.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      # This image is there twice and could be in both parts.
      all    = csv("train.csv")
      images = filter(all, all.image != "ce27d36c9147cc19.jpg")
      parts  = train_test_split(images, { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" {
        rows = table({ image = parts.test.image, hotel_id = "36363 53586 18807 64314 60181" })
      }
      files "train_images/{chain}/{image}" { each = parts.train }
      files "test_images/{image}" {
        from = "train_images/{chain}/{image}"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "map_at_k"
    id      = "image"
    targets = ["hotel_id"]
    params  = { k = 5 }
    cells   = "text"
    require {
      columns     = ["image", "hotel_id"]
      same_id_set = true
      same_rows   = true
    }
  }
}
