competition "vesuvius-challenge-ink-detection" {
  title        = "Vesuvius Challenge - Ink Detection"
  category     = "image-to-image"
  complexity   = "high"
  kind         = "code"
  opened       = "2023-03-15"
  closed       = "2023-06-14"
  size_gb      = 37.02
  metric_name  = "f0.5-score"
  sample_score = 0
  answers      = "private/inklabels_rle.csv"
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Segment the ink on fragments of carbonised papyrus scrolls from Herculaneum in three-dimensional X-ray scans of
    their surface. A submission gives the inked pixels of the test fragment as run lengths along its rows; the score
    is the F0.5 score over the fragment's pixels.
  EOT

  public_labels "Vesuvius Challenge fragments" {
    url       = "https://scrollprize.org/data"
    covers    = "all"
    note      = "It has the scans of the fragments with their ink labels."
    loaders   = ["dl.ash2txt.org"]
    reference = "https://scrollprize.org/data"
  }

  source "kaggle" {}

  prepare {
    locals {
      # Fragments 1 and 2 are train, fragment 3 is the test.
      labels = csv("train/3/inklabels_rle.csv")
      size   = image_size("train/3/ir.png")
      gold   = assign(labels, { Id = "a" })
    }
    public {
      copy "train/1" {}
      copy "train/2" {}
      copy "test/a" {
        from   = "train/3"
        except = ["inklabels.png", "inklabels_rle.csv", "ir.png"]
      }
      table "sample_submission.csv" { rows = table({ Id = gold.Id, Predicted = "1 1 5 1" }) }
    }
    private {
      table "inklabels_rle.csv" { rows = assign(gold, { width = size.width, height = size.height }) }
      table "gold_submission.csv" { rows = gold }
    }
  }

  validation {
    kind  = "own"
    share = "one of two fragments"
    prepare {
      locals {
        labels = csv("train/2/inklabels_rle.csv")
        size   = image_size("train/2/ir.png")
        gold   = assign(labels, { Id = "b" })
      }
      public {
        copy "train/1" {}
        copy "test/b" {
          from   = "train/2"
          except = ["inklabels.png", "inklabels_rle.csv", "ir.png"]
        }
        table "sample_submission.csv" { rows = table({ Id = gold.Id, Predicted = "1 1 5 1" }) }
      }
      private {
        table "inklabels_rle.csv" { rows = assign(gold, { width = size.width, height = size.height }) }
        table "gold_submission.csv" { rows = gold }
      }
    }
  }

  mask {
    refuse = "The test is a single fragment, called a: there is no id to replace and no order to change."
  }

  grade {
    metric  = "mask_fbeta"
    params  = { beta = 0.5, height = "height", width = "width" }
    id      = "Id"
    targets = ["Predicted"]
    align   = "position"
    require {
      same_rows     = true
      column_count  = 2
      columns       = ["Id", "Predicted"]
      same_id_order = true
      text          = true
    }
  }
}
