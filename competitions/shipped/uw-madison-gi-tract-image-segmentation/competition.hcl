competition "uw-madison-gi-tract-image-segmentation" {
  title        = "UW-Madison GI Tract Image Segmentation"
  category     = "image-segmentation"
  complexity   = "medium"
  kind         = "code"
  opened       = "2022-04-14"
  closed       = "2022-07-15"
  size_gb      = 2.47
  metric_name  = "dice-hausdorff-combo"
  sample_score = 0.24608

  description = <<-EOT
    Segment the stomach, small bowel and large bowel in slices of MRI scans of cancer patients, taken on several days.
    A submission gives the pixels of each organ in each slice as run lengths; the score is 0.4 times the mean Dice
    coefficient of the slices plus 0.6 times one minus the mean Hausdorff distance of the scans.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      # An id is patient, day and slice: case123_day20_slice_0001. A tenth of the patients is test.
      all     = csv("train.csv")
      case_of = part(all.id, "_", 0)
      scan_of = "${case_of}_${part(all.id, "_", 1)}"
      parts   = train_test_split(unique(case_of), { test_size = 0.1, random_state = 42 })

      # Of the other patients too, the scans after the fourth day are test.
      scan    = unique(scan_of)
      days    = table({ case = part(scan, "_", 0), day = integer(after(part(scan, "_", 1), "day")), scan = scan })
      scans   = sort_values(where_in(days, "case", parts.train), "case", "day")
      moved   = filter(scans, cumcount(scans.case) >= 4)
      is_test = isin(case_of, parts.test) || isin(scan_of, moved.scan)
      train   = filter(all, !is_test)
      test    = filter(all, is_test)

      # The width and height of a slice are in its file name: slice_0001_266_266_1.50_1.50.png.
      pictures = files("train/*/*/scans/slice_*.png")
      sizes = table({
        id           = "${part(pictures.path, "/", 2)}_slice_${part(pictures.stem, "_", 1)}"
        image_width  = real(integer(part(pictures.stem, "_", 2)))
        image_height = real(integer(part(pictures.stem, "_", 3)))
      })
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = select(test, "id", "class") }
      table "sample_submission.csv" {
        rows = table({ id = test.id, class = test.class, predicted = "1 1 5 2" })
      }
      copy "train/{case}" {
        each   = table({ case = parts.train })
        except = list(moved.scan)
      }
      copy "test/{case}" {
        from = "train/{case}"
        each = table({ case = parts.test })
      }
      copy "test/{case}/{scan}" {
        from = "train/{case}/{scan}"
        each = moved
      }
    }
    private {
      table "test.csv" { rows = join_on(rename(test, { segmentation = "predicted" }), sizes, "id") }
    }
  }

  mask {
    columns = { id = "^case([0-9]+)_" } # the metric reads day and slice
    names   = "^case([0-9]+)"
  }

  grade {
    metric  = "dice_hausdorff"
    params  = { height = "image_height", width = "image_width" }
    id      = "id"
    targets = ["predicted"]
    cells   = "filled"
    align   = "position"
    require { columns = ["id", "class", "predicted"] }
  }
}
