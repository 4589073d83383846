competition "icecube-neutrinos-in-deep-ice" {
  title        = "IceCube - Neutrinos in Deep Ice"
  category     = "tabular"
  complexity   = "medium"
  kind         = "code"
  opened       = "2023-01-19"
  closed       = "2023-04-19"
  size_gb      = 117.18
  metric_name  = "mean-angular-error"
  sample_score = 1.55139

  description = <<-EOT
    Predict the direction that a neutrino came from, from the pulses it caused in sensors in the ice of the South
    Pole. A submission gives the azimuth and zenith of each event; the score is the mean angle to the true direction.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      events  = parquet("train_meta.parquet")
      batches = train_test_split(unique(events.batch_id), { test_size = 0.1, random_state = 0 })
      test    = where_in(events, "batch_id", batches.test)
      answers = select(test, "event_id", "azimuth", "zenith")
      listed  = files("train/*.parquet")
      pulses  = assign(listed, { batch_id = integer(part(listed.stem, "_", -1)) })
    }
    public {
      parquet "train_meta.parquet" { rows = where_in(events, "batch_id", batches.train) }
      parquet "test_meta.parquet" { rows = drop(test, "azimuth", "zenith") }
      table "sample_submission.csv" { rows = fill(answers, ["azimuth", "zenith"], 1) }
      copy "sensor_geometry.csv" {}
      files "train/{name}" { each = where_in(pulses, "batch_id", batches.train) }
      files "test/{name}" {
        from = "train/{name}"
        each = where_in(pulses, "batch_id", batches.test)
      }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  mask {
    refuse = "Parquet files hold the ids of the events, and masking does not rewrite them."
  }

  grade {
    metric  = "angular_error"
    id      = "event_id"
    targets = ["azimuth", "zenith"]
    require {
      exact_columns = true
      number_type   = true
      finite        = true
      same_rows     = true
      same_id_set   = true
    }
  }

  errata "v2" {
    reason    = "The bytes of the two Parquet files depend on the version of the library that writes them (fastparquet in the reference, Arrow here), so that correct data do not match their checksums. v2 has the data and the score of v1 and compares the contents of the files: columns, types and cells. The contents for the full data are not pinned yet; the report of the checksum step gives their digest."
    reference = "prepare.py"
  }
}
