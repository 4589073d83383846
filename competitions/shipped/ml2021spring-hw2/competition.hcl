competition "ml2021spring-hw2" {
  title        = "ML2021Spring-hw2"
  complexity   = "dev"
  metric_name  = "accuracy"
  sample_score = 0.05167
  answers      = "private/answers.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Predict which of 39 phonemes is spoken in a short frame of speech, from the acoustic features of the frame and its
    five neighbours on either side. The score is the accuracy.
  EOT

  public_labels "TIMIT" {
    url       = "https://catalog.ldc.upenn.edu/LDC93S1"
    covers    = "all"
    note      = "The frames and phonemes are computed from it; a copy takes a licence."
    loaders   = ["timit", "timit_asr"]
    reference = "description.md"
  }

  source "kaggle" {}

  prepare {
    locals {
      frames = npy("timit_11/timit_11/train_11.npy")
      labels = npy("timit_11/timit_11/train_label_11.npy")
      given  = length(npy("timit_11/timit_11/test_11.npy"))
      rows   = train_test_split(sequence(frames), { test_size = given / (length(frames) + given), random_state = 0 })
      truth  = column(take(labels, rows.test))
      ids    = sequence(truth)
    }
    public {
      npy "timit_11/timit_11/train_11.npy" { rows = take(frames, rows.train) }
      npy "timit_11/timit_11/train_label_11.npy" { rows = take(labels, rows.train) }
      npy "timit_11/timit_11/test_11.npy" { rows = take(frames, rows.test) }
      table "sampleSubmission.csv" { rows = table({ Id = ids, ClassId = 0 }) }
    }
    private {
      table "answers.csv" { rows = table({ Id = ids, ClassId = truth }) }
    }
  }

  mask {
    refuse = "An id is the number of a row of a NumPy array, which masking does not rewrite."
  }

  grade {
    metric  = "accuracy"
    id      = "Id"
    targets = ["ClassId"]
    require {
      same_rows = true
      columns   = ["ClassId", "Id"]
      same_ids  = true
    }
  }
}
