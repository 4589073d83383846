competition "hubmap-kidney-segmentation" {
  title        = "HuBMAP - Hacking the Kidney"
  category     = "image-segmentation"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-11-16"
  closed       = "2021-05-10"
  size_gb      = 32.97
  metric_name  = "dice-coefficient"
  sample_score = 0
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Segment the glomeruli, the filters of the kidney, in very large microscope images of human kidney tissue. A
    submission gives a run-length encoded mask for every image; the score is the mean Dice coefficient.
  EOT

  source "kaggle" {}

  locals {
    # Which files each test image has: see the errata.
    test_files = [".tiff", ".json", "-anatomical-structure.json"]
  }

  prepare {
    locals {
      all   = csv("train.csv")
      parts = train_test_split(all, { train_size = 12, test_size = 3, random_state = 0 })

      # The information table has no id, and covers images without masks too.
      told   = csv("HuBMAP-20-dataset_information.csv")
      info   = where_in(assign(told, { id = replace(told.image_file, ".tiff", "") }), "id", all.id)
      test   = join_on(where_in(parts.test, "id", info.id), select(info, "id", "width_pixels", "height_pixels"), "id")
      sample = table({ id = test.id, predicted = "" })
    }
    public {
      table "HuBMAP-20-dataset_information.csv" { rows = drop(info, "id") }
      table "train.csv" { rows = parts.train }
      table "sample_submission.csv" { rows = sample }
      table "test/sample_submission.csv" { rows = sample }
      files "train/{id}{end}" { each = cross(parts.train, "end", [".tiff", ".json", "-anatomical-structure.json"]) }
      files "test/{id}{end}" {
        from = "train/{id}{end}"
        each = cross(test, "end", test_files)
      }
    }
    private {
      table "test.csv" { rows = test }
      table "gold_submission.csv" { rows = table({ id = test.id, predicted = test.encoding }) }
    }
  }

  validation {
    note = "The polygons of held-out images are left out: they are the labels."
    locals {
      parts      = train_test_split(all, { test_size = 0.2, random_state = 0 })
      test_files = [".tiff", "-anatomical-structure.json"]
    }
  }

  mask {
    columns = { image_file = "^[0-9a-f]+", anatomical_structures_segmention_file = "^[0-9a-f]+", glomerulus_segmentation_file = "^[0-9a-f]+" }
    names   = "^([0-9a-f]{9})-"
  }

  grade {
    metric  = "dice"
    params  = { over = "rows", both_empty = "one", height = "height_pixels", width = "width_pixels" }
    id      = "id"
    targets = ["predicted"]
    truth   = ["encoding"]
    cells   = "filled"
    require {
      columns     = ["id", "predicted"]
      same_rows   = true
      same_id_set = true
    }
  }

  errata "v2" {
    reason    = "The JSON files of the test images contain the answers, the outlines of the glomeruli. v2 has them for training images only; the anatomical structures stay, as in the original competition."
    reference = "https://github.com/openai/mle-bench/pull/98"
    locals {
      test_files = [".tiff", "-anatomical-structure.json"]
    }
  }
}
