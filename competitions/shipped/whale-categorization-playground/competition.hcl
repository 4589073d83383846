competition "whale-categorization-playground" {
  title        = "Humpback Whale Identification Challenge"
  category     = "image-classification"
  complexity   = "medium"
  opened       = "2018-01-10"
  closed       = "2018-07-09"
  size_gb      = 0.72674
  metric_name  = "MAP@5"
  sample_score = 0.11549

  description = <<-EOT
    Predict which whale a photograph of a tail shows; a whale that is not in the training images is called new_whale.
    A submission lists up to five names for each image, best first, separated by spaces; the score is the mean average
    precision at 5.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      table = csv("train.csv")
      all   = assign(table, { row = sequence(table) })
      seen  = group_size(all.Id)

      # A whale with several images has one in each part; the only image of a whale goes to either part, at random.
      several = sample_each(filter(all, seen >= 2), "Id", { count = 2, random_state = 0 })
      second  = filter(several, cumcount(several.Id) == 1)
      single  = filter(all, seen == 1)
      chosen  = filter(single, random_uniform(single, 0, 1, { random_state = 0 }) >= 0.9)

      rest  = train_test_split(where_not_in(all, "row", concat(several.row, single.row)), { test_size = 0.1, random_state = 0 })
      tests = concat(second.row, chosen.row, rest.test.row)
      train = drop(where_not_in(all, "row", tests), "row")
      test  = drop(where_in(all, "row", tests), "row")
    }
    public {
      table "train.csv" { rows = train }
      table "sample_submission.csv" { rows = fill(test, ["Id"], "new_whale w_1287fbc w_98baff9 w_7554f44 w_1eafe46") }
      files "train/{Image}" { each = train }
      files "test/{Image}" {
        from = "train/{Image}"
        each = test
      }
    }
    private {
      table "test.csv" {
        rows = assign(test, { Id = isin(test.Id, train.Id) ? test.Id : "new_whale" })
      }
    }
  }

  validation {
    share = "0.1, besides one picture of each whale"
    note  = "One picture of each whale with several, and a tenth of the others."
  }

  grade {
    metric  = "map_at_k"
    id      = "Image"
    targets = ["Id"]
    params  = { k = 5 }
    cells   = "text"
    require {
      exact_columns = true
      same_rows     = true
      same_id_set   = true
    }
  }
}
