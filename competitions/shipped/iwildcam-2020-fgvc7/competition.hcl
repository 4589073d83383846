competition "iwildcam-2020-fgvc7" {
  title        = "iWildCam 2020 - FGVC7"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2020-03-09"
  closed       = "2020-05-26"
  size_gb      = 118.59
  metric_name  = "accuracy"
  sample_score = 0.00117
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the species in images from camera traps that took none of the training images; most images of some cameras
    are empty. A submission gives a category for every image; the score is the accuracy.
  EOT

  public_labels "WILDS iWildCam" {
    url       = "https://wilds.stanford.edu/datasets/"
    covers    = "part"
    note      = "It has most of the labelled images, from which hidden rows are drawn."
    loaders   = ["iwildcam"]
    reference = "https://arxiv.org/abs/2012.07421"
  }

  source "kaggle" {}

  prepare {
    locals {
      source      = json("iwildcam2020_train_annotations.json")
      given       = json("iwildcam2020_test_information.json")
      annotations = pandas_records(source.annotations)
      images      = pandas_records(source.images)

      # Whole locations go to the test part: first those that were drawn for it, then the others from the last one backwards, as
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
      copy "iwildcam2020_megadetector_results.json" {}
      files "train/{id}.jpg" { each = train.id }
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

  mask {
    refuse = "A JSON file lists the test images in the order of v1, and masking sorts only tables, lines and arrays that are a whole file."
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
}
