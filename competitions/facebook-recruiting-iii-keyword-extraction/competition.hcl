competition "facebook-recruiting-iii-keyword-extraction" {
  title        = "Facebook Recruiting III - Keyword Extraction"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2013-08-30"
  closed       = "2013-12-20"
  size_gb      = 3.2
  metric_name  = "micro-f1-score"
  sample_score = 0.07645
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Name the tags of a question on a question-and-answer site from its title and its text. A submission gives the tags of
    each question, parted by blanks; the score is the F1 over all tags of all questions together.
  EOT

  source "kaggle" {
    slug = "facebook-recruiting-iii-keyword-extraction"
    md5  = "68ceda9a963e745ab4fe02d0939638f7"
  }

  reference {
    sha256            = "ae9dbec83c9216b45657cf93c95c9b0456d69d5313a64d1dc64fae26f52c0923"
    obfuscated_sha256 = "df65b0482ca19321fbec4adc7b794bd69d9a6d514dd2e6e717241ef7c34dc4d1"
  }

  prepare {
    extract = ["Train.zip"]
    locals {
      parts     = train_test_split(csv("Train.csv", { types = { Id = "text", Tags = "text" } }), { test_size = 0.1, random_state = 0 })
      questions = drop(parts.test, "Tags")
    }
    public {
      table "train.csv" { rows = parts.train }
      table "test.csv" { rows = questions }
      table "sample_submission.csv" { rows = fill(questions, ["Tags"], "javascript c# python php java") }
    }
    private {
      table "test.csv" { rows = parts.test }
    }
  }

  grade {
    metric  = "multilabel_f1"
    id      = "Id"
    targets = ["Tags"]
    cells   = "filled"
    require {
      columns   = ["Id", "Tags"]
      same_rows = true
      same_ids  = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv" = "e4ea6ff928dff4bf2d2a5c3b0089402c"
      "test.csv"              = "10335b0f34418bb6a523506290aff802"
      "train.csv"             = "3e16dc3e4df1697f70c93cf6bb473eaf"
    }
    private = {
      "test.csv" = "1aeaa15b5bce7088a7d5423c2c404eca"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
