competition "jigsaw-unintended-bias-in-toxicity-classification" {
  title        = "Jigsaw Unintended Bias in Toxicity Classification"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2019-03-29"
  closed       = "2019-07-18"
  size_gb      = 2.4
  metric_name  = "jigsaw-unintended-bias-in-toxicity-classification-score"
  sample_score = 0.5
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell whether a comment is toxic without mistaking the mention of a group of people for toxicity. A submission gives
    the probability for every comment; the score joins the area under the ROC curve of all comments with those of the
    comments that mention each of nine identities.
  EOT

  source "kaggle" {
    slug = "jigsaw-unintended-bias-in-toxicity-classification"
    md5  = "e7ca6425042681da2a3d85c55880626e"
  }

  reference {
    sha256            = "b594ee8a61dae656195c34aa9f8c15aaa4eaee4bbd1fc676321684a07fda1951"
    obfuscated_sha256 = "e0c4c0a78be386d83bd331f98822f6bee6757765f05535d84c8367f79bf0f53e"
  }

  prepare {
    locals {
      test = csv("test_private_expanded.csv")
    }
    public {
      copy "train.csv" { from = "train.csv" }
      table "test.csv" { rows = select(test, "id", "comment_text") }
      table "sample_submission.csv" { rows = table({ id = test.id, prediction = real(0) }) }
    }
    private {
      copy "test.csv" { from = "test_private_expanded.csv" }
    }
  }

  grade {
    metric  = "bias_auc"
    params  = { identities = ["male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white", "psychiatric_or_mental_illness"] }
    id      = "id"
    rename  = { toxicity = "prediction" }
    targets = ["prediction"]
    truth   = ["toxicity"]
    require {
      columns  = ["id", "prediction"]
      same_ids = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "6f6dce475d8d7d068e965f57dd491e03"
      "test.csv"              = "a887551e003361bad9e054d7501333cd"
      "train.csv"             = "7a687c299462dd009e90db97ac053eef"
    }
    private = {
      "test.csv" = "57d838e932f0d2a66785f7b719adfd91"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
