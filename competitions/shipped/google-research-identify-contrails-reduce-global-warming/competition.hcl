competition "google-research-identify-contrails-reduce-global-warming" {
  title        = "Google Research - Identify Contrails to Reduce Global Warming"
  category     = "image-segmentation"
  complexity   = "high"
  kind         = "code"
  opened       = "2023-05-10"
  closed       = "2023-08-09"
  size_gb      = 450.91
  metric_name  = "global-dice"
  sample_score = 6e-05
  answers      = "private/answers.csv"

  description = <<-EOT
    Segment the condensation trails of aircraft in satellite images: nine infrared bands, each a short sequence in
    time. A submission gives the pixels of each record's labelled image as run lengths, "-" for none; the score is the
    Dice coefficient over the pixels of all records together.
  EOT

  public_labels "OpenContrails" {
    url       = "https://console.cloud.google.com/storage/browser/goes_contrails_dataset"
    covers    = "unknown"
    note      = "It has the same scenes with contrail masks under other names."
    loaders   = ["goes_contrails_dataset"]
    reference = "https://arxiv.org/abs/2304.02122"
  }

  source "kaggle" {}

  prepare {
    locals {
      bands = [for band in range(8, 17) : "band_${zfill(band, 2)}.npy"]
      masks = ["human_individual_masks.npy", "human_pixel_masks.npy"]

      parts = train_test_split(json("train_metadata.json"), { test_size = length(json("validation_metadata.json")), random_state = 0 })
      train = table({ record_id = parts.train.record_id })
      test  = table({ record_id = parts.test.record_id })

      runs  = run_lengths("train/${test.record_id}/human_pixel_masks.npy")
      shown = "train/${test.record_id}/band_08.npy"
      answers = assign(test, {
        encoded_pixels = runs == "" ? "-" : runs
        height         = npy_size(shown, 0)
        width          = npy_size(shown, 1)
      })
    }
    public {
      files "train/{record_id}/{file}" { each = cross(train, "file", concat(bands, masks)) }
      files "test/{record_id}/{file}" {
        from = "train/{record_id}/{file}"
        each = cross(test, "file", bands)
      }
      copy "validation" {}
      copy "validation_metadata.json" {}
      json "train_metadata.json" { value = parts.train }
      table "sample_submission.csv" {
        rows = assign(answers, { encoded_pixels = python_choice(answers, ["1 3 10 5", "-"], { random_state = 0 }).rows })
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  mask {
    names  = "^[0-9]{6,}$"
    opaque = ["*.npy"] # images only
  }

  grade {
    metric  = "dice"
    params  = { over = "all", empty = "-", height = "height", width = "width" }
    id      = "record_id"
    targets = ["encoded_pixels"]
    require {
      columns   = ["record_id", "encoded_pixels"]
      same_rows = true
      same_ids  = true
    }
  }
}
