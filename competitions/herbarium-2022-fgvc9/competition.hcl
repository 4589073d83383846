competition "herbarium-2022-fgvc9" {
  title        = "Herbarium 2022 - FGVC9"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2022-02-14"
  closed       = "2022-05-30"
  size_gb      = 163.17
  metric_name  = "macro-f1-score"
  sample_score = 0
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the species of vascular plants of North America from pictures of herbarium sheets, 15,501 species in a tree of
    families and genera. A submission gives a category for every picture; the score is the F1 score averaged over the
    categories.
  EOT

  source "kaggle" {
    slug = "herbarium-2022-fgvc9"
    md5  = "d99e3df24b03dcb2f07fbc4c81b76a5a"
  }

  reference {
    sha256            = "2d8fdd1ecef0bac27954d7b93e90c9d948ca37ce72ea17505cbca37aa115e953"
    obfuscated_sha256 = "d1fb962d8ff327573a6845cd8bc5e145ee79d4e0876b7f4a7752899026a5212a"
  }

  prepare {
    locals {
      # The n-th annotation belongs to the n-th image.
      source      = json("train_metadata.json")
      annotations = local.source.annotations
      images      = local.source.images
      parts       = train_test_split_each(sequence(local.images), local.annotations.category_id, { test_size = 0.2, random_state = 0 })

      # Training images are numbered anew within their category, test images as a whole.
      train        = take(local.images, local.parts.train)
      category     = take(local.annotations.category_id, local.parts.train)
      train_id     = "${pad(local.category, 5)}__${pad(count_within(local.category, { start = 1 }), 3)}"
      train_name   = "${pad(integer(local.category / 100), 3)}/${pad(local.category % 100, 2)}/${local.train_id}.jpg"
      train_images = with_fields(local.train, { image_id = local.train_id, file_name = local.train_name })

      order     = python_shuffle(local.parts.test, { random_state = 0 }).rows
      test      = take(local.images, local.order)
      number    = sequence(local.test)
      test_id   = text(local.number)
      test_name = "${pad(integer(local.number / 1000), 3)}/test-${pad(local.number, 6)}.jpg"
      answers   = table({ Id = local.test_id, Predicted = take(local.annotations.category_id, local.order) })
    }
    public {
      json "train_metadata.json" {
        value     = with_fields(local.source, { annotations = with_fields(take(local.annotations, local.parts.train), { image_id = local.train_id }), images = local.train_images })
        indent    = 4
        sort_keys = true
      }
      files "train_images/{name}" {
        from = "train_images/{file_name}"
        each = table({ name = local.train_name, file_name = local.train.file_name })
      }
      json "test_metadata.json" {
        value     = with_fields(local.test, { image_id = local.test_id, file_name = local.test_name })
        indent    = 4
        sort_keys = true
      }
      files "test_images/{name}" {
        from = "train_images/{file_name}"
        each = table({ name = local.test_name, file_name = local.test.file_name })
      }
      table "sample_submission.csv" { rows = fill(local.answers, ["Predicted"], 42) }
    }
    private {
      table "answers.csv" { rows = local.answers }
    }
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

  checksums {
    public = {
      "sample_submission.csv" = "c2b0d6f95036aaa177a4e14a0d627054"
      "test_metadata.json"    = "465f92cf49fb94a793648066989fe817"
      "train_metadata.json"   = "22394926583a35658f6dd26ea0dcc683"
    }
    private = {
      "answers.csv" = "d7988cc4decb444ed99cbae59381298d"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
