competition "champs-scalar-coupling" {
  title        = "Predicting Molecular Properties"
  category     = "tabular"
  complexity   = "medium"
  opened       = "2019-05-29"
  closed       = "2019-08-28"
  size_gb      = 1.22
  metric_name  = "log-mean-absolute-error"
  sample_score = 1.99777
  answers      = "private/answers.csv"

  description = <<-EOT
    Predict the strength of the magnetic interaction, the scalar coupling constant, between two atoms of a molecule,
    from the positions and elements of the atoms. A submission gives the constant for every pair; the score is the
    logarithm of the mean absolute error, averaged over the eight coupling types, and lower is better.
  EOT

  source "kaggle" {}

  locals {
    # Whether the structures of the test molecules are public: see the errata.
    share_test_structures = false
  }

  prepare {
    locals {
      all   = csv("train.csv")
      parts = train_test_split(sort(unique(all.molecule_name)), { test_size = 0.1, random_state = 0 })
      train = take_groups(all, "molecule_name", parts.train)
      test  = take_groups(all, "molecule_name", parts.test)

      # The molecules with other properties than their couplings.
      known  = unique(train.molecule_name)
      placed = share_test_structures ? concat(known, parts.test) : known
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = drop(test, "scalar_coupling_constant") }
      table "sample_submission.csv" { rows = table({ id = test.id, scalar_coupling_constant = 0 }) }
      table "structures.csv" { rows = where_in(csv("structures.csv"), "molecule_name", placed) }
      table "dipole_moments.csv" { rows = where_in(csv("dipole_moments.csv"), "molecule_name", known) }
      table "magnetic_shielding_tensors.csv" {
        rows = where_in(csv("magnetic_shielding_tensors.csv"), "molecule_name", known)
      }
      table "mulliken_charges.csv" { rows = where_in(csv("mulliken_charges.csv"), "molecule_name", known) }
      table "potential_energy.csv" { rows = where_in(csv("potential_energy.csv"), "molecule_name", known) }
      table "scalar_coupling_contributions.csv" {
        rows = where_in(csv("scalar_coupling_contributions.csv"), "molecule_name", known)
      }
      files "structures/{molecule_name}.xyz" { each = placed }
    }
    private {
      table "answers.csv" { rows = test }
    }
  }

  mask {
    columns = { molecule_name = "" }
  }

  grade {
    metric  = "log_mae"
    params  = { group = "type" }
    id      = "id"
    targets = ["scalar_coupling_constant"]
    align   = "join"
    require {
      columns     = ["scalar_coupling_constant", "id"]
      same_id_set = true
    }
  }

  errata "v2" {
    reason    = "The structures of the test molecules, from which their couplings are to be predicted, are missing; the original competition had them. v2 has the structures of all molecules, in structures.csv and as files."
    reference = "https://github.com/openai/mle-bench/pull/70"
    locals {
      share_test_structures = true
    }
  }
}
