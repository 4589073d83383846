competition "inaturalist-2019-fgvc6" {
  title        = "iNaturalist 2019 at FGVC6"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2019-03-29"
  closed       = "2019-06-10"
  size_gb      = 87.76
  metric_name  = "top-1-classification-error"
  sample_score = 0.9996
  answers      = "private/answers.csv"
  sample       = "public/kaggle_sample_submission.csv"

  description = <<-EOT
    Predict the species of plants and animals in photographs that people took outdoors: 1,010 species in groups of
    similar ones. A submission gives a category for every image; the score is the share of wrong predictions.
  EOT

  public_labels "iNaturalist 2019" {
    url       = "https://github.com/visipedia/inat_comp/tree/master/2019"
    covers    = "all"
    note      = "The annotations of all training images, from which hidden rows are drawn, can be downloaded there."
    loaders   = ["INaturalist", "ml-inat-competition-datasets"]
    reference = "https://github.com/visipedia/inat_comp/blob/master/2019/README.md"
  }

  source "kaggle" {}

  locals {
    with_validation = false # whether the images of the validation set are public, too; its labels always are
  }

  prepare {
    extract = ["train_val2019.tar.gz"]
    locals {
      # The n-th annotation belongs to the n-th image.
      source      = json("train2019.json")
      annotations = source.annotations
      images      = source.images
      parts       = train_test_split_each(sequence(images), annotations.category_id, { test_size = 0.12, random_state = 0, shuffle_from = 5 })
      train       = take(images, parts.train)
      order       = python_shuffle(parts.test, { random_state = 0 }).rows
      test        = take(images, order)
      name        = basename(test.file_name)
      packed      = with_validation ? concat(train.file_name, json("val2019.json").images.file_name) : train.file_name
      answers     = table({ id = test.id, predicted = take(annotations.category_id, order) })
      indexes = {
        train = with_fields(source, { annotations = take(annotations, parts.train), images = train })
        test  = drop_fields(with_fields(source, { images = with_fields(test, { file_name = "test2019/${name}" }) }), ["annotations", "categories"])
      }
      archives = {
        train_val = table({ name = after(packed, "/"), file_name = packed })
        test      = table({ name = name, file_name = test.file_name })
      }
    }
    public {
      copy "val2019.json" {}
      json "{each.key}2019.json" {
        for_each  = ["train", "test"]
        value     = indexes[each.key]
        indent    = 4
        sort_keys = true
      }
      # Neither archive is compressed, in spite of its name.
      archive "{each.key}2019.tar.gz" {
        for_each = ["train_val", "test"]
        format   = "tar"
        files "{name}" {
          from = "{file_name}"
          each = archives[each.key]
        }
      }
      # 654 is the first number from 0 to 1009 of random.Random(42), drawn again for every row.
      table "kaggle_sample_submission.csv" { rows = fill(answers, ["predicted"], 654) }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  validation {
    extract = { "train_val2019.tar.gz" = "train_val2019" }
  }

  errata "v2" {
    reason    = "val2019.json lists labelled images, but the archive contains only those of the training part, so that the labels cannot be used. v2 packs all of them, as the original archive does."
    reference = "prepare.py"
    locals {
      with_validation = true
    }
  }

  mask {
    refuse = "A JSON file lists the test images in the order of v1, and masking sorts only tables, lines and arrays that are a whole file."
  }

  grade {
    metric  = "error_rate"
    id      = "id"
    targets = ["predicted"]
    cells   = "first_int"
    require {
      same_rows = true
      columns   = ["id", "predicted"]
      same_ids  = true
    }
  }
}
