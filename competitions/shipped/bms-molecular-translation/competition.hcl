competition "bms-molecular-translation" {
  title        = "Bristol-Myers Squibb - Molecular Translation"
  category     = "image-to-text"
  complexity   = "high"
  opened       = "2021-03-02"
  closed       = "2021-06-03"
  size_gb      = 8.87
  metric_name  = "levenshtein-distance"
  sample_score = 109.59778

  description = <<-EOT
    Read the image of a chemical structure, drawn in the style of old publications and often noisy, and write the
    molecule as an InChI string. A submission gives an InChI string for every image; the score is the mean Levenshtein
    distance to the true string, and lower is better.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      all   = csv("train_labels.csv", { floats = "fast" })
      named = assign(all, { a = substr(all.image_id, 0, 1), b = substr(all.image_id, 1, 1), c = substr(all.image_id, 2, 1) })
      parts = train_test_split(named, { test_size = 0.2, random_state = 0 })
      test  = drop(parts.test, "a", "b", "c")
    }
    public {
      table "train_labels.csv" { rows = drop(parts.train, "a", "b", "c") }
      table "sample_submission.csv" { rows = fill(test, ["InChI"], "InChI=1S/H2O/h1H2") }
      copy "extra_approved_InChIs.csv" {}
      files "train/{a}/{b}/{c}/{image_id}.png" { each = parts.train }
      files "test/{a}/{b}/{c}/{image_id}.png" {
        from = "train/{a}/{b}/{c}/{image_id}.png"
        each = parts.test
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  mask {
    refuse = "The first characters of an id name the folders of its file, as the description says, so a file would not be where its new id says."
  }

  grade {
    metric  = "levenshtein"
    id      = "image_id"
    targets = ["InChI"]
    cells   = "text"
    require {
      same_rows = true
      columns   = ["image_id", "InChI"]
      same_ids  = true
    }
  }
}
