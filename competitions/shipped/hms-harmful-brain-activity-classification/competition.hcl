competition "hms-harmful-brain-activity-classification" {
  title        = "HMS - Harmful Brain Activity Classification"
  category     = "image-classification"
  complexity   = "high"
  kind         = "code"
  opened       = "2024-01-09"
  closed       = "2024-04-08"
  size_gb      = 26.4
  metric_name  = "KL-divergence"
  sample_score = 1.40995
  gold         = "private/gold_submission.csv"

  description = <<-EOT
    Classify fifty seconds of a patient's electroencephalogram as a seizure, one of four other harmful patterns or
    something else, as a group of experts voted. A submission gives a probability for each of the six; the score is
    the Kullback-Leibler divergence from the shares of the votes, and lower is better.
  EOT

  source "kaggle" {}

  locals {
    classes = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]

    # Whether only the first sample of a test EEG counts, and what is given for a sample: see the errata.
    first_sample_only = false
    told_of_test      = ["spectrogram_id", "eeg_id", "patient_id"]
  }

  prepare {
    locals {
      all   = csv("train.csv")
      parts = train_test_split(unique(all.spectrogram_id), { test_size = 0.1, random_state = 0 })
      train = where_in(all, "spectrogram_id", parts.train)
      held  = where_in(all, "spectrogram_id", parts.test)
      test  = first_sample_only ? filter(held, cumcount(held.eeg_id) == 0) : held
      votes = (test.seizure_vote + test.lpd_vote + test.gpd_vote
      + test.lrda_vote + test.grda_vote + test.other_vote)
      gold = assign(select(test, "eeg_id"), { for c in classes : c => test[c] / votes })
    }
    public {
      table "train.csv" { rows = train }
      table "test.csv" { rows = select(test, told_of_test) }
      table "sample_submission.csv" { rows = fill(gold, classes, 1 / length(classes)) }
      copy "example_figures" {}
      files "train_eegs/{eeg_id}.parquet" { each = train }
      files "train_spectrograms/{spectrogram_id}.parquet" { each = train }
      files "test_{each.key}.parquet" {
        for_each = ["eegs/{eeg_id}", "spectrograms/{spectrogram_id}"]
        from     = "train_${each.key}.parquet"
        each     = test
      }
    }
    private {
      table "test.csv" { rows = test }
      table "gold_submission.csv" { rows = gold }
    }
  }

  mask {
    columns = { spectrogram_id = "", patient_id = "", label_id = "" }
    opaque  = ["*.parquet"] # columns of signals only
  }

  grade {
    metric  = "kl_divergence"
    id      = "eeg_id"
    targets = classes
    require {
      columns     = concat(["eeg_id"], classes)
      same_rows   = true
      rows_sum_to = { value = 1, decimals = 5 }
      same_id_set = true
    }
  }

  errata "v2" {
    reason    = "The test set has several samples of one EEG that nothing distinguishes, and a submission identifies a row by its EEG alone; the original test set had one sample of each EEG. v2 keeps the first sample of each, and gives its offset in the EEG and in the spectrogram."
    reference = "prepare.py"
    locals {
      first_sample_only = true
      told_of_test      = ["spectrogram_id", "eeg_id", "patient_id", "eeg_label_offset_seconds", "spectrogram_label_offset_seconds"]
    }
  }
}
