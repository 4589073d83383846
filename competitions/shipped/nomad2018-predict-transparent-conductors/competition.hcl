competition "nomad2018-predict-transparent-conductors" {
  title        = "Nomad2018 Predicting Transparent Conductors"
  category     = "tabular"
  complexity   = "low"
  opened       = "2017-12-18"
  closed       = "2018-02-15"
  size_gb      = 0.00624
  metric_name  = "mean-column-wise-rmsle"
  sample_score = 0.21174

  description = <<-EOT
    Predict two properties of a transparent conductor, its formation energy and its band gap, from its composition and
    crystal structure. The score is the mean of the two root mean squared logarithmic errors.
  EOT

  public_labels "NOMAD 2018 data set" {
    url       = "https://github.com/csutton7/nomad_2018_kaggle_dataset"
    covers    = "all"
    note      = "It has both target columns of the training data, from which hidden rows are drawn."
    loaders   = ["nomad_2018_kaggle_dataset"]
    reference = "https://doi.org/10.1038/s41524-019-0239-3"
  }

  source "kaggle" {}

  locals {
    targets = ["formation_energy_ev_natom", "bandgap_energy_ev"]
  }

  prepare {
    extract = { "train.zip" = "train", "train.csv.zip" = "train.csv" }
    locals {
      parts = train_test_split(csv("train.csv/train.csv"), { test_size = 0.1, random_state = 0 })
      train = assign(parts.train, { id = sequence(parts.train, { start = 1 }) })
      test  = assign(parts.test, { id = sequence(parts.test, { start = 1 }) })

      # A structure's folder may hold several files, as train/757 does: the last by name is its geometry.
      listed     = files("train/train/*/*.xyz")
      visible    = filter(listed, !startswith(listed.name, "."))
      structures = assign(visible, { id = integer(visible.folder) })
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = drop(test, targets) }
      table "sample_submission.csv" {
        rows = table({ id = test.id, formation_energy_ev_natom = 0.1779, bandgap_energy_ev = 1.8892 })
      }
      files "train/{new}/geometry.xyz" {
        from = "{path}"
        each = table({ new = train.id, path = map(parts.train.id, structures.id, structures.path) })
      }
      files "test/{new}/geometry.xyz" {
        from = "{path}"
        each = table({ new = test.id, path = map(parts.test.id, structures.id, structures.path) })
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  validation {
    locals {
      parts  = train_test_split(csv("train.csv"), { test_size = 0.1, random_state = 0 })
      listed = files("train/*/*.xyz")
    }
  }

  mask {
    columns = { id = "" } # submissions are graded row by row
    names   = "^[0-9]+$"
  }

  grade {
    metric  = "rmsle"
    targets = targets
    require {
      columns   = targets
      same_rows = true
    }
  }
}
