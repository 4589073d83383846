competition "vinbigdata-chest-xray-abnormalities-detection" {
  title        = "VinBigData Chest X-ray Abnormalities Detection"
  category     = "object-detection"
  complexity   = "high"
  opened       = "2020-12-30"
  closed       = "2021-03-30"
  size_gb      = 205.96
  metric_name  = "mAP-at-IoU>0.4"
  sample_score = 0.0475
  answers      = "private/answers.csv"
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Find the abnormalities in chest X-rays and classify each into one of fourteen kinds; class 14 means that there are
    none. A submission lists the findings of each image, separated by spaces: a class, a confidence and a box as
    x_min, y_min, x_max and y_max for each, and "14 1 0 0 1 1" for an image without any. The score is the mean average
    precision at an intersection over union of 0.4.
  EOT

  public_labels "VinDr-CXR" {
    url       = "https://physionet.org/content/vindr-cxr/1.0.0/"
    covers    = "all"
    note      = "It has the annotations of the 15,000 training images; access takes an agreement."
    loaders   = ["vindr-cxr"]
    reference = "https://doi.org/10.1038/s41597-022-01498-w"
  }

  source "kaggle" {}

  locals {
    by_corners = false # whether boxes are compared by their corners: see the errata
  }

  prepare {
    locals {
      all      = csv("train.csv")
      pictures = train_test_split(unique(all.image_id), { test_size = 0.1, random_state = 0 })
      test     = where_in(all, "image_id", pictures.test)

      # The findings of the first radiologist per image and class; an image without a finding has a box of one pixel.
      filled  = fillna(group_first(test, ["image_id", "class_id"]), 0)
      nothing = filled.class_id == 14
      answers = assign(filled, { x_max = nothing ? 1 : filled.x_max, y_max = nothing ? 1 : filled.y_max })
      found   = "${answers.class_id} 1.0 ${answers.x_min} ${answers.y_min} ${answers.x_max} ${answers.y_max}"
    }
    public {
      table "train.csv" { rows = where_in(all, "image_id", pictures.train) }
      table "sample_submission.csv" { rows = table({ image_id = pictures.test, PredictionString = "14 1 0 0 1 1" }) }
      files "{each.key}/{image_id}.dicom" {
        for_each = ["train", "test"]
        from     = "train/{image_id}.dicom"
        each     = pictures[each.key]
      }
    }
    private {
      table "answers.csv" { rows = answers }
      table "gold_submission.csv" { rows = group_join(assign(answers, { PredictionString = found }), "image_id", "PredictionString", " ") }
    }
  }

  mask {
    refuse = "Boxes of equal confidence count in the order of the rows, so another order gives another score; and DICOM files hold identifiers in their headers, which masking does not rewrite."
  }

  grade {
    metric  = "coco_ap"
    id      = "image_id"
    targets = ["PredictionString"]
    params  = { corners = by_corners }
    align   = "position"
    require {
      columns     = ["PredictionString", "image_id"]
      same_id_set = true
    }
  }

  errata "v2" {
    reason    = "Boxes are compared as if their second corner were width and height, and a match with the first box of the answers does not count, so that the correct answers do not score 1. v2 compares boxes by their corners."
    reference = "grade.py"
    locals {
      by_corners = true
    }
  }

  lint {
    allow "columns" {
      file   = "private/answers.csv"
      column = "PredictionString"
      reason = "The answers have one row per box, with its class and corners in separate columns."
    }
  }
}
