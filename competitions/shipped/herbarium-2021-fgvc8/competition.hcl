competition "herbarium-2021-fgvc8" {
  title        = "Herbarium 2021 - FGVC8"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2021-03-10"
  closed       = "2021-05-26"
  size_gb      = 161.9
  metric_name  = "macro-f1-score"
  sample_score = 0
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the species of pressed plants from images of herbarium sheets: 64,500 species, most of them with few
    images. A submission gives a category for every image; the score is the F1 score averaged over the categories.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      # The n-th annotation belongs to the n-th image.
      source      = json("train/metadata.json")
      annotations = source.annotations
      images      = source.images
      parts       = train_test_split_each(sequence(images), annotations.category_id, { test_size = 0.2, random_state = 0, shuffle_from = 5 })
      train       = take(images, parts.train)
      order       = python_shuffle(parts.test, { random_state = 0 }).rows
      test        = take(images, order)
      number      = sequence(test)
      name        = "images/${zfill(integer(number / 1000), 3)}/${number}.jpg"
      answers     = table({ Id = text(number), Predicted = take(annotations.category_id, order) })
    }
    public {
      json "train/metadata.json" {
        value     = with_fields(source, { annotations = take(annotations, parts.train), images = train })
        indent    = 4
        sort_keys = true
      }
      files "train/{file_name}" { each = train.file_name }
      json "test/metadata.json" {
        value     = drop_fields(with_fields(source, { images = with_fields(test, { id = text(number), file_name = name }) }), ["annotations", "categories", "institutions"])
        indent    = 4
        sort_keys = true
      }
      files "test/{name}" {
        from = "train/{file_name}"
        each = table({ name = name, file_name = test.file_name })
      }
      table "sample_submission.csv" { rows = fill(answers, ["Predicted"], 0) }
    }
    private {
      table "answers.csv" { rows = answers }
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
