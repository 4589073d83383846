competition "tgs-salt-identification-challenge" {
  title        = "TGS Salt Identification Challenge"
  category     = "image-segmentation"
  complexity   = "medium"
  opened       = "2018-07-19"
  closed       = "2018-10-19"
  size_gb      = 0.5
  metric_name  = "mean-precision-intersection-over-union-at-different-thresholds"
  sample_score = 0

  description = <<-EOT
    Segment the salt in seismic images of the ground. A submission gives the mask of the salt pixels of each image as
    run lengths; the score is the mean precision over thresholds of the intersection over union.
  EOT

  source "kaggle" {}

  locals {
    # Whether the depths of the test images are public: see the errata.
    share_test_depths = false
  }

  prepare {
    extract = ["competition_data.zip"]
    locals {
      raw   = csv("competition_data/train.csv")
      all   = assign(raw, { rle_mask = fillna(raw.rle_mask, "") })
      parts = train_test_split(all, { test_size = 0.25, random_state = 0 })
      train = sort_values(parts.train, "id")
      test  = sort_values(parts.test, "id")
      ids   = share_test_depths ? all.id : train.id
    }
    public {
      table "train.csv" { rows = train }
      table "depths.csv" { rows = sort_values(where_in(csv("depths.csv"), "id", ids), "id") }
      table "sample_submission.csv" { rows = fill(drop(test, "rle_mask"), ["rle_mask"], "1 1") }
      files "train/images/{id}.png" {
        from = "competition_data/train/images/{id}.png"
        each = train
      }
      files "train/masks/{id}.png" {
        from = "competition_data/train/masks/{id}.png"
        each = train
      }
      files "test/images/{id}.png" {
        from = "competition_data/train/images/{id}.png"
        each = test
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  validation {
    extract = { "." = "competition_data" }
  }

  grade {
    metric  = "mask_precision"
    params  = { pixels = 10201 }
    id      = "id"
    targets = ["rle_mask"]
    cells   = "filled"
    require {
      exact_columns = true
      same_rows     = true
      text          = ["id"]
      same_ids      = true
    }
  }

  errata "v2" {
    reason    = "The competition gave the depth of every image; the reference gives those of the training images only, so that depth cannot be used. v2 gives the depths of the test images too."
    reference = "prepare.py"
    locals {
      share_test_depths = true
    }
  }
}
