competition "kuzushiji-recognition" {
  title        = "Kuzushiji Recognition"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2019-07-18"
  closed       = "2019-10-14"
  size_gb      = 4.51
  metric_name  = "f1-score"
  sample_score = 0
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Read old Japanese books in cursive script: find the characters on a page and say which Unicode character each is.
    A submission lists the characters of each page, separated by spaces: the code of the character, such as U+306F,
    and the x and y of a point inside its box. The score is the F1 of these points over all pages.
  EOT

  public_labels "Kuzushiji data set of CODH" {
    url       = "http://codh.rois.ac.jp/char-shape/"
    covers    = "unknown"
    note      = "It has pages of classical books with the position and code of each character."
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    extract = { "train_images.zip" = "train" }
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      test  = parts.test

      # The perfect submission: a point one pixel inside each box.
      boxes  = explode_words(test, "labels", ["character", "x", "y", "width", "height"])
      points = assign(boxes, { labels = "${boxes.character} ${integer(boxes.x) + 1} ${integer(boxes.y) + 1}" })
      gold   = join_on(drop(test, "labels"), group_join(points, "image_id", "labels", " "), "image_id")
    }
    public {
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = fill(test, ["labels"], "U+003F 1 1 U+FF2F 2 2") }
      copy "unicode_translation.csv" {}
      archive "train_images.zip" {
        files "{image_id}.jpg" {
          from = "train/{image_id}.jpg"
          each = parts.train
        }
      }
      archive "test_images.zip" {
        files "{image_id}.jpg" {
          from = "train/{image_id}.jpg"
          each = test
        }
      }
    }
    private {
      table "test.csv" { rows = test }
      table "gold_submission.csv" { rows = gold }
    }
  }

  validation {
    note = "Held-out pages without characters are left out, since they cannot be graded."
    locals {
      test = filter(parts.test, !isna(parts.test.labels))
    }
  }

  grade {
    metric  = "point_in_box_f1"
    id      = "image_id"
    targets = ["labels"]
    require {
      same_rows = true
      columns   = ["image_id", "labels"]
      same_ids  = true
    }
  }
}
