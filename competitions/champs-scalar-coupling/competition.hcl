competition "champs-scalar-coupling" {
  title        = "Predicting Molecular Properties"
  category     = "tabular"
  complexity   = "medium"
  kind         = "simple"
  opened       = "2019-05-29"
  closed       = "2019-08-28"
  size_gb      = 1.22
  metric_name  = "log-mean-absolute-error"
  sample_score = 1.99777
  answers      = "private/answers.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Predict the strength of the magnetic interaction, the scalar coupling constant, between two atoms of a molecule, from
    the atoms' places and kinds. A submission gives the constant for every pair; the score is the logarithm of the mean
    absolute error of each of the eight coupling types, averaged over the types, lower being better.
  EOT

  source "kaggle" {
    slug = "champs-scalar-coupling"
    md5  = "2e7bb40d8e2b3488250f15430b8cf947"
  }

  reference {
    sha256            = "806e605a9b7ddedcae7f84577f86d6c7cee257e1894dc647298dee2b52e7273c"
    obfuscated_sha256 = "497f68fb41b276dad9ab3c185cc64877f5ba42e91cdd6d7e2806a5ede4fc8d15"
  }

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

      # The molecules that are described besides their couplings.
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
      files "structures/{molecule_name}.xyz" {
        from = "structures/{molecule_name}.xyz"
        each = placed
      }
    }
    private {
      table "answers.csv" { rows = test }
    }
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
    reason    = "The structures of the test molecules, from which their couplings are to be predicted, are held back; the original competition gave them. v2 gives the structures of all molecules, in structures.csv and as files."
    reference = "https://github.com/openai/mle-bench/pull/70"
    locals {
      share_test_structures = true
    }
  }

  checksums {
    public = {
      "dipole_moments.csv"                = "e9227539164f9d43b1150121ae727940"
      "magnetic_shielding_tensors.csv"    = "9a495d3d556092a7bf96f087187ee181"
      "mulliken_charges.csv"              = "3bdc6ff0f3f451796923d4659eb6766d"
      "potential_energy.csv"              = "b30f3b3b2889e433487c3abdab6b6814"
      "sample_submission.csv"             = "fbb4313c3052857027152c871900a0c4"
      "scalar_coupling_contributions.csv" = "233037169b2a8f8ee1519c19c6eb7b6e"
      "structures.csv"                    = "6082e6a941b90bcabb7325f3bee64622"
      "test.csv"                          = "2c8b2fd3060697f3be78489290f40768"
      "train.csv"                         = "bc4222feab583532854367a124d93aaa"
    }
    private = {
      "answers.csv" = "d41126a1d909d1e5c33d0a4828f2694d"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
