competition "herbarium-2022-fgvc9" {
  title        = "Herbarium 2022 - FGVC9"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2022-02-14"
  closed       = "2022-05-30"
  size_gb      = 163.17
  metric_name  = "macro-f1-score"
  sample_score = 0
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the species of vascular plants of North America from images of herbarium sheets: 15,501 species in a
    hierarchy of families and genera. A submission gives a category for every image; the score is the F1 score
    averaged over the categories.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      # The n-th annotation belongs to the n-th image.
      source      = json("train_metadata.json")
      annotations = source.annotations
      images      = source.images
      parts       = train_test_split_each(sequence(images), annotations.category_id, { test_size = 0.2, random_state = 0 })

      # Training images are numbered again within their category, test images across all categories.
      train        = take(images, parts.train)
      category     = take(annotations.category_id, parts.train)
      train_id     = "${zfill(category, 5)}__${zfill(cumcount(category, { start = 1 }), 3)}"
      train_name   = "${zfill(integer(category / 100), 3)}/${zfill(category % 100, 2)}/${train_id}.jpg"
      train_images = with_fields(train, { image_id = train_id, file_name = train_name })

      order     = python_shuffle(parts.test, { random_state = 0 }).rows
      test      = take(images, order)
      number    = sequence(test)
      test_id   = text(number)
      test_name = "${zfill(integer(number / 1000), 3)}/test-${zfill(number, 6)}.jpg"
      answers   = table({ Id = test_id, Predicted = take(annotations.category_id, order) })
    }
    public {
      json "train_metadata.json" {
        value     = with_fields(source, { annotations = with_fields(take(annotations, parts.train), { image_id = train_id }), images = train_images })
        indent    = 4
        sort_keys = true
      }
      files "train_images/{name}" {
        from = "train_images/{file_name}"
        each = table({ name = train_name, file_name = train.file_name })
      }
      json "test_metadata.json" {
        value     = with_fields(test, { image_id = test_id, file_name = test_name })
        indent    = 4
        sort_keys = true
      }
      files "test_images/{name}" {
        from = "train_images/{file_name}"
        each = table({ name = test_name, file_name = test.file_name })
      }
      table "sample_submission.csv" { rows = fill(answers, ["Predicted"], 42) }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  validation {
    note = "Classes of fewer than 5 images keep their order, as in herbarium-2021-fgvc8."
    locals {
      parts = train_test_split_each(sequence(images), annotations.category_id, { test_size = 0.2, random_state = 0, shuffle_from = 5 })
    }
  }

  mask {
    refuse = "A JSON file lists the test images in the order of v1, and masking sorts only tables, lines and arrays that are a whole file."
  }

  grade {
    metric  = "f1"
    id      = "Id"
    targets = ["Predicted"]
    params  = { average = "macro" }
    cells   = "int"
    require {
      same_rows = true
      columns   = ["Predicted", "Id"]
      same_ids  = true
    }
  }
}
