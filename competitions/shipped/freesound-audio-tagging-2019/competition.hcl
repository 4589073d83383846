competition "freesound-audio-tagging-2019" {
  title        = "Freesound Audio Tagging 2019"
  category     = "audio-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2019-04-04"
  closed       = "2019-06-17"
  size_gb      = 26.15
  metric_name  = "label-ranking-average-precision"
  sample_score = 0.02197

  description = <<-EOT
    Predict which of 80 kinds of sound are heard in short recordings; there may be several. The training data are a
    few thousand recordings with checked labels and four times as many with unchecked labels. A submission gives a
    value for each recording and kind of sound; the score is the label-weighted label-ranking average precision.
  EOT

  public_labels "FSDKaggle2019" {
    url       = "https://zenodo.org/records/3612637"
    covers    = "all"
    note      = "It has the labels of the private test set, which are the answers here."
    loaders   = ["FSDKaggle2019"]
    reference = "https://zenodo.org/records/3612637"
  }

  source "kaggle" {}

  # The labels of the test recordings, which were published after the competition.
  source "http" {
    url = "https://zenodo.org/records/3612637/files/FSDKaggle2019.meta.zip?download=1"
    as  = "FSDKaggle2019.meta.zip"
  }

  locals {
    classes = lines("classes.txt")
  }

  prepare {
    extract = ["FSDKaggle2019.meta.zip"]
    locals {
      # The labels of the test recordings, published after the competition.
      published = csv("FSDKaggle2019.meta/test_post_competition.csv", { floats = "fast" })
      test      = filter(published, published.usage == "Private")
    }
    public {
      copy "." { except = ["FSDKaggle2019.meta*"] }
    }
    private {
      table "test.csv" { rows = multi_hot(select(test, "fname", "labels"), "labels", classes, ",") }
    }
  }

  validation {
    note = "The competition's test is another file; a tenth of the curated clips are held out."
    prepare {
      locals {
        parts = train_test_split(csv("train_curated.csv"), { test_size = 0.1, random_state = 0 })
      }
      public {
        table "train_curated.csv" { rows = parts.train }
        files "train_curated/{fname}" {
          each    = parts.train
          missing = "skip"
        }
        copy "train_noisy.csv" {}
        copy "train_noisy" {}
        files "test/{fname}" {
          from    = "train_curated/{fname}"
          each    = parts.test
          missing = "skip"
        }
        table "sample_submission.csv" { rows = fill(multi_hot(select(parts.test, "fname", "labels"), "labels", classes, ","), classes, 0) }
      }
      private {
        table "test.csv" { rows = multi_hot(select(parts.test, "fname", "labels"), "labels", classes, ",") }
      }
    }
  }

  grade {
    metric  = "lwlrap"
    id      = "fname"
    targets = classes
    cells   = "numeric"
    require {
      same_rows    = true
      column_order = true
      same_ids     = true
    }
  }

  lint {
    allow "pins" {
      file   = "FSDKaggle2019.meta.zip"
      reason = "The reference has no checksum for this archive; the only table that is made from it, the answers, is pinned."
    }
  }
}
