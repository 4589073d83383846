competition "herbarium-2021-fgvc8" {
  title        = "Herbarium 2021 - FGVC8"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2021-03-10"
  closed       = "2021-05-26"
  size_gb      = 161.9
  metric_name  = "macro-f1-score"
  sample_score = 0
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the species of pressed plants from pictures of herbarium sheets, most of 64,500 species with few pictures. A
    submission gives a category for every picture; the score is the F1 score averaged over the categories.
  EOT

  source "kaggle" {
    slug = "herbarium-2021-fgvc8"
    md5  = "c4632c48c0f74ee925ef0e99883ac673"
  }

  reference {
    sha256            = "fa0e30caeaa3eaff232c49e0fee3372fcd2c0a260702ba9944c6b7f13d74667d"
    obfuscated_sha256 = "f7aad01502a78d34e3578a4a9ed40948be81beda0a109e264f48a8dd116b8b84"
  }

  prepare {
    locals {
      # The n-th annotation belongs to the n-th image.
      source      = json("train/metadata.json")
      annotations = local.source.annotations
      images      = local.source.images
      parts       = train_test_split_each(sequence(local.images), local.annotations.category_id, { test_size = 0.2, random_state = 0, shuffle_from = 5 })
      train       = take(local.images, local.parts.train)
      order       = python_shuffle(local.parts.test, { random_state = 0 }).rows
      test        = take(local.images, local.order)
      number      = sequence(local.test)
      name        = "images/${pad(integer(local.number / 1000), 3)}/${local.number}.jpg"
      answers     = table({ Id = text(local.number), Predicted = take(local.annotations.category_id, local.order) })
    }
    public {
      json "train/metadata.json" {
        value     = with_fields(local.source, { annotations = take(local.annotations, local.parts.train), images = local.train })
        indent    = 4
        sort_keys = true
      }
      files "train/{file_name}" {
        from = "train/{file_name}"
        each = local.train.file_name
      }
      json "test/metadata.json" {
        value     = drop_fields(with_fields(local.source, { images = with_fields(local.test, { id = text(local.number), file_name = local.name }) }), ["annotations", "categories", "institutions"])
        indent    = 4
        sort_keys = true
      }
      files "test/{name}" {
        from = "train/{file_name}"
        each = table({ name = local.name, file_name = local.test.file_name })
      }
      table "sample_submission.csv" { rows = fill(local.answers, ["Predicted"], 0) }
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
      "sample_submission.csv" = "e53508ab941ce7f219c6e82fde9a6baa"
    }
    private = {
      "answers.csv" = "ba6fdf67c5f53a1a39bef7a129b38108"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
