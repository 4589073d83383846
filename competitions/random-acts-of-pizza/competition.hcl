competition "random-acts-of-pizza" {
  title        = "Random Acts of Pizza"
  category     = "text-classification"
  complexity   = "low"
  kind         = "simple"
  opened       = "2014-05-29"
  closed       = "2015-06-01"
  size_gb      = 0.003
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Tell whether somebody who asked strangers on the internet for a pizza got one, from the text of the request and what
    is known about its author. A submission gives the probability; the score is the area under the ROC curve.
  EOT

  source "kaggle" {
    slug = "random-acts-of-pizza"
    md5  = "16319db32e81271a30f106f4e86f1b3d"
  }

  reference {
    sha256            = "0534f4d657a2fdff3c9ce68cc6625565cd7f7d092a92eff94745b930c6dc47ce"
    obfuscated_sha256 = "0aff2b32d02a29be7227a28be96ecb4f3f2fcd346161c498007cd102913e50f8"
  }

  locals {
    # Members that are kept from everybody: none in v1, see the errata.
    hidden = []
  }

  prepare {
    locals {
      requests = json("train.json")
      given    = json("test.json")
      share    = length(given) / (length(requests) + length(given))
      parts    = train_test_split(requests, { test_size = share, random_state = 0 })
      train    = drop_fields(parts.train, hidden)
      test     = drop_fields(select_fields(parts.test, names_of(given[0])), hidden)
      answers = table({
        request_id               = parts.test.request_id
        requester_received_pizza = integer(parts.test.requester_received_pizza)
      })
    }
    public {
      json "train.json" {
        value  = train
        indent = 4
      }
      json "test.json" {
        value  = test
        indent = 4
      }
      archive "train.zip" {
        json "train.json" {
          value  = train
          indent = 4
        }
      }
      archive "test.zip" {
        json "test.json" {
          value  = test
          indent = 4
        }
      }
      table "sampleSubmission.csv" { rows = fill(answers, ["requester_received_pizza"], 0) }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "request_id"
    targets = ["requester_received_pizza"]
    require {
      columns   = ["request_id", "requester_received_pizza"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The name of the giver, giver_username_if_known, is known only where a pizza was given and so tells the outcome. v2 takes it out of the training and the test records."
    reference = "https://github.com/openai/mle-bench/issues/108"
    mends     = ["determined-answers"]
    locals {
      hidden = ["giver_username_if_known"]
    }
  }

  checksums {
    public = {
      "sampleSubmission.csv" = "6d7556c9a2f353b5d83ab0424a1bc914"
      "test.json"            = "f86bbac7e5eb9658632ac51ccef06042"
      "train.json"           = "67a72ab0b01bb8fabb81f8406cc485f1"
    }
    private = {
      "test.csv" = "b7a9c13b5f063dcfff7102f39f8c95ca"
    }
    manifest = "d9d2b36032ca403f190f1c5b0441a2d1650e8bb5ed9d3efd4e2c3043f86d7cb8"
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
