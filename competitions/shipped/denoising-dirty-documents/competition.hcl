competition "denoising-dirty-documents" {
  title        = "Denoising Dirty Documents"
  category     = "image-to-image"
  complexity   = "low"
  opened       = "2015-06-01"
  closed       = "2015-10-05"
  size_gb      = 0.06
  metric_name  = "root_mean_squared_error"
  sample_score = 0.28616
  answers      = "private/answers.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Clean scanned pages of text from coffee stains, folds and other dirt. A submission gives the grey value, from 0 for
    black to 1 for white, of every pixel of the cleaned pages; the score is the root mean squared error.
  EOT

  public_labels "NoisyOffice" {
    url       = "https://archive.ics.uci.edu/dataset/318/noisyoffice"
    covers    = "all"
    note      = "It has the same noisy pages and their clean originals."
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    extract = ["train.zip", "train_cleaned.zip"]
    locals {
      pages   = train_test_split(files("train/*.png"), { test_size = 0.2, random_state = 0 })
      answers = where_in(files("train_cleaned/*.png"), "name", pages.test.name)
      cleaned = pixels(answers.path)
      ids     = "${stem(cleaned.path)}_${cleaned.row}_${cleaned.column}"
    }
    public {
      files "train/{name}" { each = pages.train }
      copy "train" { except = ["*.png"] }
      files "train_cleaned/{name}" { each = where_not_in(files("train_cleaned/*.png"), "name", pages.test.name) }
      copy "train_cleaned" { except = ["*.png"] }
      files "test/{name}" {
        from = "train/{name}"
        each = pages.test
      }
      table "sampleSubmission.csv" { rows = table({ id = ids, value = 1 }) }
    }
    private {
      table "answers.csv" { rows = table({ id = ids, value = cleaned.value }) }
    }
  }

  mask {
    columns = { id = "^[0-9]+" }
  }

  grade {
    metric  = "rmse"
    id      = "id"
    targets = ["value"]
    require {
      columns   = ["id", "value"]
      numeric   = true
      same_rows = true
      same_ids  = true
    }
  }
}
