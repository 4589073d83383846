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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell from a photograph of a cassava leaf, taken by farmers in Uganda, which of four diseases the plant has, or that it
    is healthy. A submission gives a class from 0 to 4 for every picture; the score is the accuracy.
  EOT

  source "kaggle" {
    slug = "cassava-leaf-disease-classification"
    md5  = "e1dc225f0fc8a4161e48a4f9015e16c0"
  }

  reference {
    sha256            = "8f99d10e9bb8c31776101de1411c5011177135fd43c513ae0bf50214362ea0b7"
    obfuscated_sha256 = "3ce3dec9da64224b5b0e3e208e49a765e1825d7c1bf0930cdbd78ed2a2c518b8"
  }

  locals {
    # Whether the TFRecord files of the test pictures are public: see the errata.
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
      copy "label_num_to_disease_map.json" { from = "label_num_to_disease_map.json" }
      files "train_images/{image_id}" {
        from = "train_images/{image_id}"
        each = train
      }
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
    reason    = "The TFRecord files of the test pictures are training files of the original competition under other names, and each record holds target, the answer. v2 has no TFRecord files of test pictures; the pictures are there as JPEG."
    reference = "https://github.com/openai/mle-bench/blob/783b15af77404fbaffe7255b0c4a934b46153389/mlebench/competitions/cassava-leaf-disease-classification/prepare.py"
    mends     = ["record-answers"]
    locals {
      share_test_records = false
    }
  }

  checksums {
    public = {
      "label_num_to_disease_map.json" = "133bf5c6a60c901792937eaad034b188"
      "sample_submission.csv"         = "b27270a483141fa217d990d55b4b3d49"
      "train.csv"                     = "fede2927f0d412590f195abfbd07b578"
    }
    private = {
      "test.csv" = "34b2b412be39aba1edac9c04990e4fb8"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
