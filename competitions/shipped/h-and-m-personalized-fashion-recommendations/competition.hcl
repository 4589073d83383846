competition "h-and-m-personalized-fashion-recommendations" {
  title        = "H&M Personalized Fashion Recommendations"
  category     = "tabular"
  complexity   = "medium"
  opened       = "2022-02-07"
  closed       = "2022-05-09"
  size_gb      = 34.56
  metric_name  = "MAP@12"
  sample_score = 0
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict what the customers of a fashion shop will buy next week, from two years of purchases and data on the
    customers and the articles, most of them with an image. A submission lists up to twelve article numbers for each
    customer, best first, separated by spaces; the score is the mean average precision at 12 over the customers who
    bought anything in that week.
  EOT

  source "kaggle" {}

  locals {
    # How article numbers are read, in sales and in predictions, and how many days before the last one are
    # tested: see the errata.
    types       = {}
    strings     = []
    days_before = 7
  }

  prepare {
    locals {
      sales  = csv("transactions_train.csv", { types = types })
      day    = date_ordinal(sales.t_dat)
      recent = day >= max(day) - days_before
      train  = filter(sales, !recent)
      test   = filter(sales, recent)
    }
    public {
      table "transactions_train.csv" { rows = train }
      copy "articles.csv" {}
      copy "customers.csv" {}
      copy "sample_submission.csv" {}
      copy "images" {}
    }
    private {
      table "answers.csv" {
        rows = rename(group_join(test, "customer_id", "article_id", " "), { article_id = "prediction" })
      }
    }
  }

  validation {
    kind  = "time"
    share = "the last 7 days"
  }

  grade {
    metric  = "map_at_k"
    id      = "customer_id"
    targets = ["prediction"]
    params  = { k = 12 }
    strings = strings
    cells   = "text"
    align   = "overlap"
    require {
      exact_columns = true
      all_ids       = true
    }
  }

  errata "v2" {
    reason    = "Article numbers are read as integers, so that the answers have lost the leading zeros that the description, the sample submission and the articles have: predictions with leading zeros score 0, as the sample does. And the answers are the purchases of eight days, not of the seven in the task. v2 keeps article numbers as they are, also in a prediction of one article for each customer, and tests seven days."
    reference = "prepare.py"
    locals {
      types       = { article_id = "text" }
      strings     = ["prediction"]
      days_before = 6
    }
  }
}
