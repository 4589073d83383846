competition "random-acts-of-pizza" {
  title        = "Random Acts of Pizza"
  category     = "text-classification"
  complexity   = "low"
  opened       = "2014-05-29"
  closed       = "2015-06-01"
  size_gb      = 0.003
  metric_name  = "auc-roc"
  sample_score = 0.5
  sample       = "public/sampleSubmission.csv"

  description = <<-EOT
    Predict whether somebody who asked strangers on the internet for a pizza got one, from the text of the request and
    what is known about its author. A submission gives the probability; the score is the area under the ROC curve.
  EOT

  public_labels "Random Acts of Pizza" {
    url       = "https://snap.stanford.edu/data/web-RedditPizzaRequests.html"
    covers    = "all"
    note      = "It has all 5,671 requests with their outcome."
    loaders   = ["raop-dataset"]
    reference = "description.md"
  }

  source "kaggle" {}

  locals {
    hidden = [] # fields that are removed for everybody: none in v1, see the errata
  }

  prepare {
    locals {
      requests = json("train.json")
      given    = json("test.json")
      share    = length(given) / (length(requests) + length(given))
      parts    = train_test_split(requests, { test_size = share, random_state = 0 })
      given_of = { train = parts.train, test = select_fields(parts.test, names_of(given[0])) }
      shown    = { for part, rows in given_of : part => drop_fields(rows, hidden) }
      answers = table({
        request_id               = parts.test.request_id
        requester_received_pizza = integer(parts.test.requester_received_pizza)
      })
    }
    public {
      json "{each.key}.json" {
        for_each = ["train", "test"]
        value    = shown[each.key]
        indent   = 4
      }
      archive "{each.key}.zip" {
        for_each = ["train", "test"]
        json "{each.key}.json" {
          value  = shown[each.key]
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
    reason    = "The name of the giver, giver_username_if_known, is known only where a pizza was given, and so reveals the outcome. v2 removes it from the training and the test records."
    reference = "https://github.com/openai/mle-bench/issues/108"
    fixes     = ["determined-answers"]
    locals {
      hidden = ["giver_username_if_known"]
    }
  }
}
