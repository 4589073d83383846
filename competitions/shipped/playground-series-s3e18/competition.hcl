competition "playground-series-s3e18" {
  title        = "Explore Multi-Label Classification with an Enzyme Substrate Dataset"
  complexity   = "dev"
  metric_name  = "auroc-multi-label"
  sample_score = 0.5

  description = <<-EOT
    Predict two classes of enzymes, EC1 and EC2, that act on a molecule, from its chemical descriptors. A submission
    gives a probability for each; the score is the mean of the two areas under the ROC curve.
  EOT

  source "kaggle" {}

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
      reason = "The task is to predict EC1 and EC2 alone; EC3 to EC6 are labels that only the training data have."
    }
  }
}
