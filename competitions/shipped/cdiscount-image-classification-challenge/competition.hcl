competition "cdiscount-image-classification-challenge" {
  title        = "Cdiscount’s Image Classification Challenge"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2017-09-14"
  closed       = "2017-12-14"
  size_gb      = 78.12
  metric_name  = "accuracy"
  sample_score = 0.00885
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict to which of a shop's more than 5,000 categories a product belongs, from one to four images of it. A
    submission gives a category for each product; the score is the accuracy.
  EOT

  source "kaggle" {}

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
      copy "category_names.csv" {}
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  mask {
    refuse = "BSON files hold the ids of the products, and masking does not rewrite them."
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
}
