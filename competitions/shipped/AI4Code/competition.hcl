competition "AI4Code" {
  title        = "Google AI4Code - Understand Code in Python Notebooks"
  category     = "text-classification"
  complexity   = "medium"
  kind         = "code"
  opened       = "2022-05-11"
  closed       = "2022-11-10"
  size_gb      = 2.16
  metric_name  = "kendall-tau"
  sample_score = 0.39187
  answers      = "private/test_orders.csv"

  description = <<-EOT
    Put the cells of a Jupyter notebook in order: the order of its code cells is known, and the Markdown cells must be
    placed among them. A submission lists the cells of each notebook; the score is Kendall's tau over the pairs of
    cells of all notebooks.
  EOT

  public_labels "Meta Kaggle Code" {
    url       = "https://www.kaggle.com/datasets/kaggle/meta-kaggle-code"
    covers    = "part"
    note      = "It has notebooks that Kaggle's community published, with cells in their order."
    loaders   = ["kaggle/meta-kaggle-code"]
    reference = "description.md"
  }

  source "kaggle" {}

  param "test_size" {
    default     = 20000
    rehearsal   = 24
    description = "number of test notebooks"
  }

  prepare {
    locals {
      # Notebooks that descend from one another stay together.
      ancestors = sample(csv("train_ancestors.csv"), { share = 1, random_state = 0 })
      is_test   = first_fit(ancestors.ancestor_id, param.test_size)
      train     = filter(ancestors, !is_test)
      test      = filter(ancestors, is_test)

      orders      = csv("train_orders.csv")
      test_orders = where_in(orders, "id", test.id)
    }
    public {
      files "train/{id}.json" { each = train }
      files "test/{id}.json" {
        from = "train/{id}.json"
        each = test
      }
      table "train_orders.csv" { rows = where_in(orders, "id", train.id) }
      table "train_ancestors.csv" { rows = where_not_in(ancestors, "id", test.id) }

      # The cells as in the files: code cells in order, then the Markdown cells, shuffled.
      table "sample_submission.csv" {
        rows = table({
          id         = test_orders.id
          cell_order = json_names("train/${test_orders.id}.json", "cell_type", " ")
        })
      }
    }
    private {
      table "test_orders.csv" { rows = test_orders }
    }
  }

  mask {
    columns = { parent_id = "" }
  }

  grade {
    metric  = "kendall_tau"
    id      = "id"
    targets = ["cell_order"]
    cells   = "text"
    require {
      same_rows   = true
      columns     = ["id", "cell_order"]
      same_id_set = true
    }
  }
}
