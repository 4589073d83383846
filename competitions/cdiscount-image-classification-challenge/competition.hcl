competition "cdiscount-image-classification-challenge" {
  title        = "Cdiscount’s Image Classification Challenge"
  category     = "image-classification"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2017-09-14"
  closed       = "2017-12-14"
  size_gb      = 78.12
  metric_name  = "accuracy"
  sample_score = 0.00885
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Tell to which of more than 5,000 categories of a shop a product belongs, from one to four pictures of it. A submission
    gives a category for each product; the score is the share of products with the right one.
  EOT

  source "kaggle" {
    slug = "cdiscount-image-classification-challenge"
    md5  = "dce8429382191257a67421fd3914e257"
  }

  reference {
    sha256            = "b6e9867bc21c9993bef59323d475d20eb0cc7dad548b865fd5bb0d74f810d173"
    obfuscated_sha256 = "975a26e328e8f094bb0ee3a2985fcd98ba3b46e910229bedb917e4f208dc4f74"
  }

  prepare {
    locals {
      products = bson("train.bson")
      parts    = train_test_split(select(products, "_id", "category_id"), { test_size = 0.1, random_state = 0 })
      answers  = sort_values(parts.test, "_id")
      train    = where_in(products, "_id", parts.train._id)
      test     = where_in(products, "_id", answers._id)
    }
    public {
      bson "train.bson" { rows = train }
      bson "test.bson" { rows = drop(test, "category_id") }
      bson "train_example.bson" { rows = head(train, 100) }
      table "sample_submission.csv" { rows = fill(answers, ["category_id"], 1000010653) }
      copy "category_names.csv" { from = "category_names.csv" }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "_id"
    targets = ["category_id"]
    require {
      same_rows = true
      columns   = ["category_id", "_id"]
      same_ids  = true
    }
  }

  checksums {
    public = {
      "category_names.csv"    = "f3942c134e6010e531709f56fcf63ce4"
      "sample_submission.csv" = "386d237e1e17a667040d9a8a8e753371"
      "test.bson"             = "b2b39dbcd5e04c1c27aea258e103e1a4"
      "train.bson"            = "af1df955ac1abfab0b9c3fa5ad732760"
      "train_example.bson"    = "e715bde1bc797b076f21349674898e4d"
    }
    private = {
      "answers.csv" = "40700f1566c1be9eda129ec310ce6fe8"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
