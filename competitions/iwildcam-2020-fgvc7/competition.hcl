competition "iwildcam-2020-fgvc7" {
  title        = "iWildCam 2020 - FGVC7"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2020-03-09"
  closed       = "2020-05-26"
  size_gb      = 118.59
  metric_name  = "accuracy"
  sample_score = 0.00117
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the species in the pictures of camera traps that took none of the training pictures; most pictures of some
    cameras are empty. A submission gives a category for every picture; the score is the share of pictures that are right.
  EOT

  source "kaggle" {
    slug = "iwildcam-2020-fgvc7"
    md5  = "904c5f3195cc47eae83d4334ad9c20e6"
  }

  reference {
    sha256            = "124b9b8b5ff6ffcd370360c4a9d3e55e80ea2a620293cb253bc021e21fd51370"
    obfuscated_sha256 = "c3143ca4bf8b37bc3105114634a1dbd599f352b50fa17237594db35717dcc352"
  }

  prepare {
    locals {
      source      = json("iwildcam2020_train_annotations.json")
      given       = json("iwildcam2020_test_information.json")
      annotations = pandas_records(source.annotations)
      images      = pandas_records(source.images)

      # Whole locations go to the test part: first those that were drawn for it, then the others from the last one on, as
      # long as the test images are no more than the share of all images and the test images together.
      share     = 0.22
      drawn     = train_test_split(unique(images.location), { test_size = share, random_state = 0 })
      locations = concat(drawn.test, reverse(drawn.train))
      size      = take(group_size(images.location), positions(images.location, locations))
      total     = cumsum(size)
      held_out  = filter(locations, total / (total + length(images)) <= share)
      is_test   = isin(images.location, held_out)

      train      = filter(images, !is_test)
      test       = filter(images, is_test)
      test_notes = filter(annotations, isin(annotations.image_id, test.id))
      answers    = table({ Id = test_notes.image_id, Category = test_notes.category_id })
    }
    public {
      json "iwildcam2020_train_annotations.json" {
        value = object({
          annotations = filter(annotations, isin(annotations.image_id, train.id))
          images      = train
          categories  = pandas_records(source.categories)
          info        = source.info
        })
      }
      json "iwildcam2020_test_information.json" {
        value = object({ images = test, categories = pandas_records(given.categories), info = given.info })
      }
      copy "iwildcam2020_megadetector_results.json" { from = "iwildcam2020_megadetector_results.json" }
      files "train/{id}.jpg" {
        from = "train/{id}.jpg"
        each = train.id
      }
      files "test/{id}.jpg" {
        from = "train/{id}.jpg"
        each = test.id
      }
      table "sample_submission.csv" { rows = assign(answers, { Category = random_integers(answers, 0, 676, { random_state = 0 }) }) }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "Id"
    targets = ["Category"]
    require {
      same_rows = true
      columns   = ["Category", "Id"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "iwildcam2020_megadetector_results.json" = "1b9ece07ab63b920bf8a9ae8f05bd38c"
      "iwildcam2020_test_information.json"     = "88143d613e565e6ce875c222b9d49ebc"
      "iwildcam2020_train_annotations.json"    = "d67abd02833d86fcf7f08e5655c34cae"
      "sample_submission.csv"                  = "0b664574b369e81790f7f092fbb8ae11"
    }
    private = {
      "answers.csv" = "88adac005790552cbd7530e14c88525a"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
