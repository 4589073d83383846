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
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Mark the condensation trails of aircraft in satellite pictures: nine infrared bands, each a short sequence in time. A
    submission gives the pixels of each record's labelled picture as run lengths, "-" for none; the score is the Dice
    coefficient over the pixels of all records together.
  EOT

  source "kaggle" {
    slug = "google-research-identify-contrails-reduce-global-warming"
    md5  = "55480a1ef98fd61becf36d8608ffeb74"
  }

  reference {
    sha256            = "8ed736890804fd6d6642080ce2638ef4ae8ccb7d37f35b627c7607cc1b6d3296"
    obfuscated_sha256 = "da087ac8c65ad61e9ca6cd8eb282208b0c9c28abea258ec2814f06d0603f80d3"
  }

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
      files "train/{record_id}/{file}" {
        from = "train/{record_id}/{file}"
        each = cross(train, "file", concat(bands, masks))
      }
      files "test/{record_id}/{file}" {
        from = "train/{record_id}/{file}"
        each = cross(test, "file", bands)
      }
      copy "validation" { from = "validation" }
      copy "validation_metadata.json" { from = "validation_metadata.json" }
      json "train_metadata.json" { value = parts.train }
      table "sample_submission.csv" {
        rows = assign(answers, { encoded_pixels = python_choice(answers, ["1 3 10 5", "-"], { random_state = 0 }).rows })
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
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

  checksums {
    public = {
      "sample_submission.csv"    = "76f1e9892ad523bd23909fd41bc47734"
      "train_metadata.json"      = "c1904919eceebb2ff92e05e384e52eba"
      "validation_metadata.json" = "fbba4a0196aecfea9749f347a407519d"
    }
    private = {
      "answers.csv" = "19bcf4d920a7b6edb1ce5bbda2299437"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
