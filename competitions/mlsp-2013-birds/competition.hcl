competition "mlsp-2013-birds" {
  title        = "MLSP 2013 Bird Classification Challenge"
  category     = "audio-classification"
  complexity   = "low"
  opened       = "2013-06-17"
  closed       = "2013-08-19"
  size_gb      = 0.5851
  metric_name  = "auc-roc"
  sample_score = 0.5
  answers      = "private/answers.csv"

  description = <<-EOT
    Tell which of 19 bird species are heard in a ten-second recording made in a forest in Oregon. A submission gives a
    probability for every pair of recording and species; the score is the area under the ROC curve over all pairs.
  EOT

  source "kaggle" {}

  locals {
    data     = "mlsp_contest_dataset"
    segments = ["histogram_of_segments", "segment_features", "segment_rectangles"]
  }

  prepare {
    extract = ["mlsp_contest_dataset.zip"]
    locals {
      # Fold 0 holds the recordings with labels; they get new numbers, and a fifth of them becomes the test.
      folds     = csv("${data}/essential_data/CVfolds_2.txt")
      old       = filter(folds, folds.fold == 0)
      numbers   = sequence(old)
      test_ids  = sample(numbers, { share = 0.2, random_state = 0 })
      new_folds = table({ rec_id = numbers, fold = isin(numbers, test_ids) ? 1 : 0 })

      names = where_in(csv("${data}/essential_data/rec_id2filename.txt"), "rec_id", old.rec_id)
      kept  = assign(names, { rec_id = map(names.rec_id, old.rec_id, numbers) })

      label_lines = skip(text_lines("${data}/essential_data/rec_labels_test_hidden.txt", { all_ends = true }), 1)
      all_labels  = table({ rec_id = integer(before(label_lines, ",")), labels = after(label_lines, ",") })
      old_labels  = where_in(all_labels, "rec_id", old.rec_id)
      labels      = assign(old_labels, { rec_id = map(old_labels.rec_id, old.rec_id, numbers) })
      shown       = isin(labels.rec_id, test_ids) ? "?" : labels.labels

      pairs = cross(where_in(labels, "rec_id", test_ids), "species", range(19))
      answers = table({
        Id          = pairs.rec_id * 100 + pairs.species
        Probability = list_holds(pairs.labels, ",", pairs.species) ? 1 : 0
      })
      asked = cross(where_in(new_folds, "rec_id", test_ids), "species", range(19))

      # Three tables of segments: a number, a comma, and a rest that stays as it is.
      lines = { for name in segments : name => skip(text_lines("${data}/supplemental_data/${name}.txt", { all_ends = true }), 1) }
      rows  = { for name, l in lines : name => where_in(table({ rec_id = integer(before(l, ",")), rest = after(l, ",") }), "rec_id", old.rec_id) }
      text  = { for name, t in rows : name => "${map(t.rec_id, old.rec_id, numbers)},${t.rest}" }
    }
    public {
      table "essential_data/CVfolds_2.txt" { rows = new_folds }
      table "essential_data/rec_id2filename.txt" { rows = kept }
      text "essential_data/rec_labels_test_hidden.txt" {
        header = "rec_id,[labels]"
        lines  = shown == "" ? text(labels.rec_id) : "${labels.rec_id},${shown}"
      }
      copy "essential_data/species_list.txt" { from = "mlsp_contest_dataset/essential_data/species_list.txt" }
      files "essential_data/src_wavs/{filename}.wav" {
        from = "mlsp_contest_dataset/essential_data/src_wavs/{filename}.wav"
        each = kept
      }
      files "supplemental_data/filtered_spectrograms/{filename}.bmp" {
        from = "mlsp_contest_dataset/supplemental_data/filtered_spectrograms/{filename}.bmp"
        each = kept
      }
      files "supplemental_data/segmentation_examples/{filename}.bmp" {
        from    = "mlsp_contest_dataset/supplemental_data/segmentation_examples/{filename}.bmp"
        each    = kept
        missing = "skip"
      }
      files "supplemental_data/spectrograms/{filename}.bmp" {
        from = "mlsp_contest_dataset/supplemental_data/spectrograms/{filename}.bmp"
        each = kept
      }
      files "supplemental_data/supervised_segmentation/{filename}.bmp" {
        from = "mlsp_contest_dataset/supplemental_data/supervised_segmentation/{filename}.bmp"
        each = kept
      }
      copy "supplemental_data/segment_clusters.bmp" { from = "mlsp_contest_dataset/supplemental_data/segment_clusters.bmp" }
      copy "supplemental_data/segment_mosaic.bmp" { from = "mlsp_contest_dataset/supplemental_data/segment_mosaic.bmp" }

      # The reference writes the first table's header into all three.
      text "supplemental_data/histogram_of_segments.txt" {
        header = "rec_id,[histogram of segment features]"
        lines  = text.histogram_of_segments
      }
      text "supplemental_data/segment_features.txt" {
        header = "rec_id,[histogram of segment features]"
        lines  = text.segment_features
      }
      text "supplemental_data/segment_rectangles.txt" {
        header = "rec_id,[histogram of segment features]"
        lines  = text.segment_rectangles
      }
      table "sample_submission.csv" {
        rows = table({ Id = asked.rec_id * 100 + asked.species, Probability = 0 })
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  grade {
    metric  = "roc_auc"
    id      = "Id"
    targets = ["Probability"]
    require {
      columns   = ["Id", "Probability"]
      same_rows = true
      between   = { min = 0, max = 1, missing = "skip" }
      same_ids  = true
    }
  }
}
