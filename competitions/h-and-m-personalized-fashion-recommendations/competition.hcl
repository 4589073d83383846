competition "h-and-m-personalized-fashion-recommendations" {
  title        = "H&M Personalized Fashion Recommendations"
  category     = "tabular"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2022-02-07"
  closed       = "2022-05-09"
  size_gb      = 34.56
  metric_name  = "MAP@12"
  sample_score = 0
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Foretell what the customers of a fashion shop buy in the week after the purchases of two years, given what is known
    of the customers and the articles, with pictures of most of them. A submission lists up to twelve article numbers
    for each customer, best first, with a blank between them; the score is the mean average precision at 12 over the
    customers who bought anything in that week.
  EOT

  source "kaggle" {
    slug = "h-and-m-personalized-fashion-recommendations"
    md5  = "b7f44b0fc78b749967d4711fe6497121"
  }

  reference {
    sha256            = "8552695dd6f4d7f384b18f7abf726d4db8cae47c2c758e6343d1f6744e81026c"
    obfuscated_sha256 = "e36bab488c1f14c5f23d6fb20ebdc49f7394e943727542351a80391cb0b10e2f"
  }

  locals {
    # How article numbers are read, and how many days before the last one are tested: see the errata.
    types       = {}
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
      copy "articles.csv" { from = "articles.csv" }
      copy "customers.csv" { from = "customers.csv" }
      copy "sample_submission.csv" { from = "sample_submission.csv" }
      copy "images" { from = "images" }
    }
    private {
      table "answers.csv" {
        rows = rename(group_join(test, "customer_id", "article_id", " "), { article_id = "prediction" })
      }
    }
  }

  grade {
    metric  = "map_at_k"
    id      = "customer_id"
    targets = ["prediction"]
    params  = { k = 12 }
    cells   = "text"
    align   = "overlap"
    require {
      exact_columns = true
      all_ids       = true
    }
  }

  errata "v2" {
    reason    = "Article numbers are read as whole numbers, so that the answers lack the zeros before them, which the description, the sample submission and the articles have: predictions of that form score 0, as the sample does. And the answers are the purchases of eight days, not of the seven that are asked for. v2 keeps article numbers as they are and tests seven days."
    reference = "https://github.com/openai/mle-bench/blob/783b15af77404fbaffe7255b0c4a934b46153389/mlebench/competitions/h-and-m-personalized-fashion-recommendations/prepare.py"
    locals {
      types       = { article_id = "text" }
      days_before = 6
    }
  }

  checksums {
    public = {
      "articles.csv"           = "f193ef0f582e8476ebb613d143742d0f"
      "customers.csv"          = "3aa1713831590115fffc667ba6c187a7"
      "sample_submission.csv"  = "004eaa20317d414d62f23165293c4a7b"
      "transactions_train.csv" = "2a6e1b3ad8f550894341e4bc78a8279d"
    }
    private = {
      "answers.csv" = "46123d4726564502bb3bb546f647fb42"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
