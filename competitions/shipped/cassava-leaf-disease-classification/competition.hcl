competition "cassava-leaf-disease-classification" {
  title        = "Cassava Leaf Disease Classification"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2020-11-19"
  closed       = "2021-02-18"
  size_gb      = 6.19
  metric_name  = "accuracy"
  sample_score = 0.11584

  description = <<-EOT
    Predict which of four diseases a cassava plant has, or that it is healthy, from a photograph of a leaf taken by
    farmers in Uganda. A submission gives a class from 0 to 4 for every image; the score is the accuracy.
  EOT

  source "kaggle" {}

  locals {
    # Whether the TFRecord files of the test images are public: see the errata.
    share_test_records = true
  }

  prepare {
    locals {
      files = files("train_tfrecords/*.tfrec")
      parts = train_test_split(assign(files, { length = part(files.stem, "-", 1) }), { test_size = 0.1, random_state = 0 })

      train_records = assign(parts.train, { new = "train_tfrecords/ld_train${zfill(sequence(parts.train), 2)}" })
      test_records  = assign(parts.test, { new = "test_tfrecords/ld_test${zfill(sequence(parts.test), 2)}" })

      all   = csv("train.csv")
      names = tfrecord_texts(parts.test.path, "image_name")
      train = where_not_in(all, "image_id", names)
      test  = where_in(all, "image_id", names)
    }
    public {
      table "train.csv" { rows = train }
      table "sample_submission.csv" { rows = fill(test, ["label"], 4) }
      copy "label_num_to_disease_map.json" {}
      files "train_images/{image_id}" { each = train }
      files "test_images/{image_id}" {
        from = "train_images/{image_id}"
        each = test
      }
      files "{new}-{length}.tfrec" {
        from = "{path}"
        each = share_test_records ? concat(train_records, test_records) : train_records
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  validation {
    note = "The TFRecord files of held-out images are left out: they have the labels."
    locals {
      share_test_records = false
    }
  }

  mask {
    refuse = "TFRecord files hold the names of the images, and masking does not rewrite them."
  }

  grade {
    metric  = "accuracy"
    id      = "image_id"
    targets = ["label"]
    require {
      same_rows = true
      columns   = ["label", "image_id"]
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The TFRecord files of the test images are training files of the original competition under other names, and each record contains the answer, target. v2 has no TFRecord files of test images; the images are there as JPEG."
    reference = "prepare.py"
    fixes     = ["record-answers"]
    locals {
      share_test_records = false
    }
  }
}
