competition "ml2021spring-hw2" {
  title        = "ML2021Spring-hw2"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "accuracy"
  sample_score = 0.05167
  answers      = "private/answers.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Name the phoneme, one of 39, that is spoken in a short frame of speech, from the acoustic features of the frame and
    its five neighbours on either side. The score is the share of frames told rightly.
  EOT

  source "kaggle" {
    slug = "ml2021spring-hw2"
    md5  = "4bce22f1c15d09d6f224d99853dcb79f"
  }

  reference {
    sha256            = "4be55954d8f4f167b96c407bdcbf51889a599582c108a7b7e576206dbe15e6a8"
    obfuscated_sha256 = "e53230fd0f9e1764178adeb2014a847b7bc781ab1bfde95c4aee57bfdf0bf4cb"
  }

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

  checksums {
    public = {
      "sampleSubmission.csv" = "4fe69a042cfe9e066c088e603917eec4"
    }
    private = {
      "answers.csv" = "9fde0306ed6a02eea1b27686c54ce2bf"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
