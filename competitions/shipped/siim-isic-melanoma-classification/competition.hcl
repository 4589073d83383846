competition "siim-isic-melanoma-classification" {
  title        = "SIIM-ISIC Melanoma Classification"
  category     = "image-classification"
  complexity   = "low"
  opened       = "2020-05-27"
  closed       = "2020-08-18"
  size_gb      = 116.16
  metric_name  = "auc-roc"
  sample_score = 0.5

  description = <<-EOT
    Predict whether a skin lesion is a melanoma, from an image of it, the patient's sex and age and the site of the
    lesion. A submission gives the probability for each image; the score is the area under the ROC curve.
  EOT

  public_labels "ISIC 2020 challenge" {
    url       = "https://challenge.isic-archive.com/data/"
    covers    = "all"
    note      = "It has the diagnoses of all 33,126 training images, from which hidden rows are drawn."
    loaders   = ["isic-challenge-data"]
    reference = "https://challenge2020.isic-archive.com/"
  }

  source "kaggle" {}

  locals {
    share_test_records = true # whether the TFRecord files of the test images are public: see the errata
  }

  prepare {
    locals {
      records   = files("tfrecords/train*.tfrec")
      is_test   = isin(records.name, ["train00-2071.tfrec", "train06-2071.tfrec"])
      old_train = filter(records, !is_test)
      old_test  = filter(records, is_test)

      train_records = assign(old_train, { new = "train${zfill(sequence(old_train), 2)}-${after(old_train.name, "-")}" })
      test_records  = assign(old_test, { new = "test${zfill(sequence(old_test), 2)}-${after(old_test.name, "-")}" })

      all   = csv("train.csv", { floats = "fast" })
      names = tfrecord_texts(old_test.path, "image_name")
      train = where_not_in(all, "image_name", names)
      test  = where_in(all, "image_name", names)
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = select(test, "image_name", "patient_id", "sex", "age_approx", "anatom_site_general_challenge") }
      table "sample_submission.csv" { rows = table({ image_name = test.image_name, target = 0 }) }
      files "train/{image_name}.dcm" { each = train }
      files "jpeg/train/{image_name}.jpg" { each = train }
      files "{each.key}" {
        for_each = { "test/{image_name}.dcm" = "train/{image_name}.dcm", "jpeg/test/{image_name}.jpg" = "jpeg/train/{image_name}.jpg" }
        from     = each.value
        each     = test
      }
      files "tfrecords/{new}" {
        from = "{path}"
        each = share_test_records ? concat(train_records, test_records) : train_records
      }
    }
    private {
      table "test.csv" { rows = select(test, "image_name", "target") }
    }
  }

  validation {
    share = "two of the record files"
    note  = "The TFRecord files of held-out images are left out: they have the labels."
    locals {
      share_test_records = false
    }
  }

  mask {
    refuse = "TFRecord and DICOM files hold the names of the images and of patients, and masking does not rewrite them."
  }

  grade {
    metric  = "roc_auc"
    id      = "image_name"
    targets = ["target"]
    require {
      columns   = ["image_name", "target"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The TFRecord files of the test images are training files of the original competition under other names, and each record contains the answer, target. v2 has no TFRecord files of test images; the images are there as DICOM and JPEG."
    reference = "prepare.py"
    fixes     = ["record-answers"]
    locals {
      share_test_records = false
    }
  }
}
