competition "stanford-covid-vaccine" {
  title        = "OpenVaccine: COVID-19 mRNA Vaccine Degradation Prediction"
  category     = "tabular"
  complexity   = "high"
  opened       = "2020-09-11"
  closed       = "2020-10-06"
  size_gb      = 2.68
  metric_name  = "multi-class-log-loss"
  sample_score = 0.63824

  description = <<-EOT
    Predict how an RNA molecule degrades at each of its bases, from its sequence and predicted structure: its reactivity
    and its degradation at high pH and at 50 degrees, with and without magnesium. A submission gives five values for
    every base; the score is the mean over three of them of the root mean squared error at the bases that were measured.
  EOT

  public_labels "RMDB, OpenVaccine entries" {
    url       = "https://rmdb.stanford.edu/detail/SHAPE_RYOS_0620"
    covers    = "all"
    note      = "Its entries have the measured reactivity and degradation of the same molecules."
    loaders   = ["SHAPE_RYOS_0620", "RYOS1_MGPH_0000"]
    reference = "https://doi.org/10.1038/s42256-022-00571-8"
  }

  source "kaggle" {}

  locals {
    measures = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
    found_by = "row" # how the rows to be scored are found in a submission: see the errata
  }

  prepare {
    locals {
      all   = pandas_json_lines("train.json")
      given = pandas_json_lines("test.json")

      # A tenth of the molecules, drawn from those that pass the signal-to-noise filter.
      numbers = sequence(all)
      drawn   = sample(filter(numbers, all.SN_filter > 0), { count = floor(length(all) / 10), random_state = 0 })
      is_test = isin(numbers, drawn)
      train   = filter(all, !is_test)
      test    = filter(all, is_test)

      # One row per base; those after the measured ones are zero and not scored.
      molecules  = with_fields(test, { molecule = sequence(test) })
      measured   = explode(select_fields(molecules, concat(["molecule", "id"], measures)), measures)
      unmeasured = repeat(table({ molecule = sequence(test), id = test.id }), test.seq_length - test.seq_scored)
      rows       = concat(assign(measured, { keep = true }), assign(fill(unmeasured, measures, real(0)), { keep = false }))
      sorted     = sort_values(assign(rows, { position = cumcount(rows.molecule) }), "molecule", "position")
      answers    = select(assign(sorted, { id_seqpos = "${sorted.id}_${sorted.position}" }), "id_seqpos", measures, "keep")
    }
    public {
      json_lines "train.json" { rows = with_fields(train, { index = sequence(train) }) }
      json_lines "test.json" { rows = with_fields(select_fields(test, names_of(given[0])), { index = sequence(test) }) }
      table "sample_submission.csv" {
        rows         = fill(drop(answers, "keep"), measures, real(0))
        float_format = "%.10f"
      }
    }
    private {
      table "test.csv" {
        rows         = answers
        float_format = "%.10f"
      }
    }
  }

  validation {
    kind  = "random"
    share = "0.1"
    note  = "Only molecules that pass the signal filter are held out."
  }

  mask {
    columns = { id_seqpos = "^(.+)_[0-9]+$", id = "", index = "" }
  }

  grade {
    metric  = "rmse"
    id      = "id_seqpos"
    targets = ["reactivity", "deg_Mg_pH10", "deg_Mg_50C"]
    only    = { column = "keep", equals = true, by = found_by }
    require {
      same_rows = true
      columns   = concat(["id_seqpos"], measures)
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The rows to be scored are found by their position in the submission, not by their id: correct values in another order than that of the answers are scored as wrong. v2 matches rows by id."
    reference = "grade.py"
    locals {
      found_by = "id"
    }
  }
}
