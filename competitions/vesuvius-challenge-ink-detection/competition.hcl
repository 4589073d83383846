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
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Find the ink on fragments of carbonised papyrus scrolls from Herculaneum in three-dimensional X-ray scans of their
    surface. A submission gives the inked pixels of the test fragment as run lengths along its rows; the score is the F0.5
    measure over the fragment's pixels.
  EOT

  source "kaggle" {
    slug = "vesuvius-challenge-ink-detection"
    md5  = "01b67ade839d9f0c68baee2c6025b478"
  }

  reference {
    sha256            = "29cf8b540d06c97ed115ce862ed3f8776bd1d590daea8e4c393077222d22f6cb"
    obfuscated_sha256 = "d0462be5158fada757407d73a7a4f03002910f80d2a0cf732a691bb1e5827861"
  }

  prepare {
    locals {
      # Fragments 1 and 2 are train, fragment 3 is the test.
      labels = csv("train/3/inklabels_rle.csv")
      size   = image_size("train/3/ir.png")
      gold   = assign(labels, { Id = "a" })
    }
    public {
      copy "train/1" { from = "train/1" }
      copy "train/2" { from = "train/2" }
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

  checksums {
    public = {
      "sample_submission.csv" = "034491951a7c40fbcac61ebe97ec4629"
    }
    private = {
      "gold_submission.csv" = "448955259fbb2d5399d4d6b0944b255d"
      "inklabels_rle.csv"   = "319de381a2477837da0ba44679c6227e"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
