competition "alaska2-image-steganalysis" {
  title        = "ALASKA2 Image Steganalysis"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2020-04-27"
  closed       = "2020-07-21"
  size_gb      = 32.27
  metric_name  = "weighted-auroc"
  sample_score = 0.58571

  description = <<-EOT
    Predict whether a JPEG image hides a message, written by one of three steganographic algorithms, or is an
    untouched cover. A submission gives each image a number, higher if the image is more likely to hide something; the
    score is a weighted area under the ROC curve in which true positive rates up to 0.4 count twice.
  EOT

  source "kaggle" {}

  param "test_size" {
    default     = 5000
    rehearsal   = 24
    description = "number of test images"
  }

  locals {
    algorithms = ["JMiPOD", "JUNIWARD", "UERD"]
  }

  prepare {
    locals {
      parts = train_test_split(files("Cover/*.jpg"), { test_size = param.test_size, random_state = 42 })
      train = assign(parts.train, { id = zfill(sequence(parts.train, { start = 1 }), 5) })

      # Half of the test pictures are covers; the others come from an algorithm drawn for each.
      order = python_shuffle(parts.test, { random_state = 0 })
      drawn = python_choice(order.rows, ["Cover", algorithms], { random_state = order.next })
      test = assign(order.rows, {
        id   = "${zfill(sequence(order.rows, { start = 1 }), 4)}.jpg"
        from = drawn.rows
      })
      answers = table({ Id = test.id, Label = test.from == "Cover" ? 0 : 1 })
    }
    public {
      files "{kind}/{id}.jpg" {
        from = "{kind}/{name}"
        each = cross(train, "kind", concat(["Cover"], algorithms))
      }
      files "Test/{id}" {
        from = "{from}/{name}"
        each = test
      }
      table "sample_submission.csv" { rows = fill(answers, ["Label"], 0) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  validation {
    note = "A held-out image may be a cover or one of three stego images; all four leave the training data."
  }

  grade {
    metric  = "weighted_auc"
    id      = "Id"
    targets = ["Label"]
    require {
      same_rows  = true
      columns    = ["Id", "Label"]
      same_ids   = true
      numeric    = true
      no_missing = true
    }
  }
}
