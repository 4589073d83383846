competition "smartphone-decimeter-2022" {
  title        = "Google Smartphone Decimeter Challenge 2022"
  category     = "tabular"
  complexity   = "high"
  opened       = "2022-05-02"
  closed       = "2022-07-29"
  size_gb      = 22.9
  metric_name  = "average-haversine-distance"
  sample_score = 3122773.6564

  description = <<-EOT
    Predict the position of a smartphone at every second of a drive, to the decimetre, from the satellite signals and
    movements that it recorded. A submission gives the latitude and longitude of each moment; the score is the mean,
    over the phones of a drive, of the 50th and 95th percentiles of the distance to the true position, in metres.
  EOT

  source "kaggle" {}

  locals {
    hidden = ["ground_truth.csv"] # files of the test drives that agents do not get: see the errata
  }

  prepare {
    locals {
      # A drive's name begins with its date; drives of one date stay together.
      names  = folders("train/*").name
      year   = part(names, "-", 0)
      month  = zfill(part(names, "-", 1), 2)
      day    = zfill(part(names, "-", 2), 2)
      drives = table({ name = names, date = "${year}-${month}-${day}" })
      dates  = train_test_split(sort(unique(drives.date)), { test_size = 0.1, random_state = 0 })
      test   = where_in(drives, "date", dates.test)

      truths = files("train/*/*/ground_truth.csv").path
      fixes = csv_files(filter(truths, isin(part(truths, "/", 1), test.name)), {
        columns = ["UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"]
        floats  = "fast"
      })
      answers = table({
        tripId           = "${part(fixes.path, "/", 1)}-${part(fixes.path, "/", 2)}"
        UnixTimeMillis   = fixes.UnixTimeMillis
        LatitudeDegrees  = fixes.LatitudeDegrees
        LongitudeDegrees = fixes.LongitudeDegrees
      })
    }
    public {
      copy "train/{name}" { each = where_in(drives, "date", dates.train) }
      copy "test/{name}" {
        from   = "train/{name}"
        each   = test
        except = hidden
      }
      copy "metadata" {}
      table "sample_submission.csv" { rows = assign(answers, { LatitudeDegrees = 37.904611315634504, LongitudeDegrees = -86.48107806249548 }) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  errata "v2" {
    reason    = "The span_log.nmea files of the test drives, which come from the original competition's train folder, reveal the position of the car. v2 has none in the test drives."
    reference = "https://github.com/openai/mle-bench/issues/93"
    locals {
      hidden = ["ground_truth.csv", "span_log.nmea"]
    }
  }

  mask {
    refuse = "The id of a trip is its day, place and phone, and the logs of the trip repeat them."
  }

  grade {
    metric  = "haversine_quantiles"
    params  = { group = "tripId" }
    targets = ["LatitudeDegrees", "LongitudeDegrees"]
    require {
      columns   = ["tripId", "UnixTimeMillis", "LatitudeDegrees", "LongitudeDegrees"]
      same_rows = true
    }
  }
}
