competition "playground-series-s3e18" {
  title        = "Explore Multi-Label Classification with an Enzyme Substrate Dataset"
  complexity   = "dev"
  kind         = "simple"
  metric_name  = "auroc-multi-label"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict two classes of enzymes, EC1 and EC2, that act on a molecule, from its chemical descriptors. A submission
    gives a probability for each; the score is the mean of the two areas under the ROC curve.
  EOT

  source "kaggle" {
    slug = "playground-series-s3e18"
    md5  = "7e5aa885e5138b6b5668f426347c7602"
  }

  reference {
    sha256            = "9d7eb7d18b78cfaf7cf4befdb1dd903319861298bc32aca2dde5a035da478958"
    obfuscated_sha256 = "44bbdec2028cbb11c8198d6382dc06610788d56e2c336348e2468df637e46ef8"
  }

  locals {
    targets = ["EC1", "EC2"]
  }

  prepare {
    locals {
      parts = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = drop(parts.test, [for n in range(1, 7) : "EC${n}"]) }
      table "sample_submission.csv" { rows = fill(select(parts.test, "id", targets), targets, 0.5) }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "id"
    targets = targets
    require {
      columns   = ["id", "EC1", "EC2"]
      same_rows = true
      same_ids  = true
    }
  }

  lint {
    allow "ungraded-columns" {
      reason = "The competition asks for EC1 and EC2 alone; EC3 to EC6 are labels that only the training data have."
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "9bb782a52ccbfd6873f9a1e9cc3e97d3"
      "test.csv"              = "1a77aa7922b712e3085a771b8fe73c5f"
      "train.csv"             = "e19b27b614d5a3bb74b930c52d659799"
    }
    private = {
      "test.csv" = "f744297d99692b67dc82c54f672a4745"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
