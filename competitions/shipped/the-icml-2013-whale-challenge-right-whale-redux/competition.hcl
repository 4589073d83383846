competition "the-icml-2013-whale-challenge-right-whale-redux" {
  title        = "The ICML 2013 Whale Challenge - Right Whale Redux"
  category     = "audio-classification"
  complexity   = "low"
  opened       = "2013-05-10"
  closed       = "2013-06-17"
  size_gb      = 0.29314
  metric_name  = "auc-roc"
  sample_score = 0.5
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Predict whether a two-second underwater recording contains the call of a North Atlantic right whale. The
    recordings of two days are for training, those of two later days for testing. A submission gives the probability
    of a call; the score is the area under the ROC curve.
  EOT

  source "kaggle" {}

  prepare {
    extract = ["train2.zip"]
    locals {
      clips = assign(files("train2/*.aif"), { day = before(names, "_") })
      names = files("train2/*.aif").name
      days  = sort(unique(clips.day))

      old_train = where_in(clips, "day", head(days, 2))
      old_test  = where_in(clips, "day", head(skip(days, 2), 2))

      train = assign(old_train, { new = "${before(old_train.name, "TRAIN")}TRAIN${sequence(old_train)}_${part(old_train.name, "_", -1)}" })
      test  = assign(old_test, { clip = "${before(old_test.name, "TRAIN")}Test${sequence(old_test)}.aif" })

      answers = table({ clip = test.clip, probability = endswith(test.stem, "_1") ? 1 : 0 })
    }
    public {
      archive "train2.zip" {
        folders = true
        files "train2/{new}" {
          from = "{path}"
          each = train
        }
      }
      archive "test2.zip" {
        folders = true
        files "test2/{clip}" {
          from = "{path}"
          each = test
        }
      }
      table "sampleSubmission.csv" { rows = fill(answers, ["probability"], 0) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  validation {
    kind  = "time"
    share = "the second of two days"
    locals {
      old_train = where_in(clips, "day", head(days, 1))
      old_test  = where_in(clips, "day", skip(days, 1))
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "clip"
    targets = ["probability"]
    require {
      columns   = ["clip", "probability"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }
}
