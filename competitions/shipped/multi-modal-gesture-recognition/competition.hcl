competition "multi-modal-gesture-recognition" {
  title        = "Multi-modal Gesture Recognition"
  category     = "image-segmentation"
  complexity   = "medium"
  opened       = "2013-06-21"
  closed       = "2013-08-25"
  size_gb      = 23.23
  metric_name  = "levenhstein-distance"
  sample_score = 0.91966
  sample       = "public/randomPredictions.csv"

  description = <<-EOT
    Predict which of 20 Italian gestures a person makes, in order, in Kinect recordings of sound, colour, depth, the
    person's outline and skeleton. A submission gives the numbers of the gestures for each recording; the score is the
    sum of the edit distances to the true sequences divided by the number of true gestures.
  EOT

  source "kaggle" {}

  locals {
    # What is removed from the test recordings: see the errata.
    withheld = {}
  }

  prepare {
    locals {
      # The fourth archive of training data is the test; its recordings are identified by the last four digits of their names.
      test_ids = sort(substr(archive_files("training4.tar.gz", "*.zip").stem, -4, -1))
      all      = csv("training.csv", { types = { Id = "text", Sequence = "text" } })

      # The sample submission has the numbers 1 to 20 in random order for each recording.
      numbers = cross(table({ row = sequence(test_ids) }), "place", range(20))
      drawn   = assign(numbers, { number = column(python_sample(range(1, 21), 20, { repeat = length(test_ids) }).rows) })
    }
    public {
      table "training.csv" { rows = where_not_in(all, "Id", test_ids) }
      table "test.csv" { rows = table({ Id = test_ids }) }
      table "randomPredictions.csv" {
        rows = table({ Id = test_ids, Sequence = group_join(drawn, "row", "number", " ").number })
      }
      repack "test.tar.gz" {
        from  = "training4.tar.gz"
        clear = withheld
      }
      copy "training1.tar.gz" {}
      copy "training2.tar.gz" {}
      copy "training3.tar.gz" {}
      copy "validation1.tar.gz" {}
      copy "validation2.tar.gz" {}
      copy "validation3.tar.gz" {}
      copy "devel01-40.7z" {}
      copy "valid_all_files_combined.7z" {}
      copy "sample_code_mmrgc.zip" {}
    }
    private {
      table "test.csv" { rows = where_in(all, "Id", test_ids) }
    }
  }

  validation {
    kind  = "own"
    share = "one of three archives"
    note  = "training3.tar.gz is held out. Its labels are removed, as in version v2."
    prepare {
      locals {
        test_ids = sort(substr(archive_files("training3.tar.gz", "*.zip").stem, -4, -1))
        all      = csv("training.csv", { types = { Id = "text", Sequence = "text" } })

        numbers = cross(table({ row = sequence(test_ids) }), "place", range(20))
        drawn   = assign(numbers, { number = column(python_sample(range(1, 21), 20, { repeat = length(test_ids) }).rows) })
      }
      public {
        table "training.csv" { rows = where_not_in(all, "Id", test_ids) }
        table "test.csv" { rows = table({ Id = test_ids }) }
        table "randomPredictions.csv" {
          rows = table({ Id = test_ids, Sequence = group_join(drawn, "row", "number", " ").number })
        }
        repack "test.tar.gz" {
          from  = "training3.tar.gz"
          clear = { "*_data.mat" = "Video.Labels" }
        }
        copy "training1.tar.gz" {}
        copy "training2.tar.gz" {}
      }
      private {
        table "test.csv" { rows = where_in(all, "Id", test_ids) }
      }
    }
  }

  mask {
    refuse = "The recordings are archives inside archives and named by their ids, inside and outside; masking does not rewrite archives inside archives."
  }

  grade {
    metric  = "sequence_error_rate"
    id      = "Id"
    targets = ["Sequence"]
    cells   = "text"
    require {
      same_rows = true
      columns   = ["Id", "Sequence"]
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The test recordings come from the training data, and the field Labels of each recording's MATLAB file lists its gestures, the answer. v2 empties that field in the test recordings, as the original competition did, and packs them again; skeletons, sound and images stay, and so do all other archives."
    reference = "https://github.com/openai/mle-bench/issues/77"
    locals {
      withheld = { "*_data.mat" = "Video.Labels" }
    }
  }
}
