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
    Predict which of 19 bird species are heard in a ten-second recording made in a forest in Oregon. A submission
    gives a probability for every pair of recording and species; the score is the area under the ROC curve over all
    pairs.
  EOT

  public_labels "Birds, multi-label" {
    url       = "http://mulan.sourceforge.net/datasets-mlc.html"
    covers    = "all"
    note      = "It has the species and computed features of all 645 recordings."
    loaders   = ["birds"]
    reference = "https://search.r-project.org/CRAN/refmans/mldr/html/birds.html"
  }

  source "kaggle" {}

  locals {
    set       = "mlsp_contest_dataset"
    unchanged = ["essential_data/species_list.txt", "supplemental_data/segment_clusters.bmp", "supplemental_data/segment_mosaic.bmp"]
    # The files of a recording: their folders and suffixes.
    recordings = {
      "essential_data/src_wavs"                   = "wav"
      "supplemental_data/filtered_spectrograms"   = "bmp"
      "supplemental_data/spectrograms"            = "bmp"
      "supplemental_data/supervised_segmentation" = "bmp"
    }
    # The tables of text and their headers; the reference writes the first segment table's header into all three.
    labels   = "essential_data/rec_labels_test_hidden"
    segments = [for name in ["histogram_of_segments", "segment_features", "segment_rectangles"] : "supplemental_data/${name}"]
    headers  = merge({ (labels) = "rec_id,[labels]" }, { for path in segments : path => "rec_id,[histogram of segment features]" })
  }

  prepare {
    extract = ["mlsp_contest_dataset.zip"]
    locals {
      # Fold 0 holds the recordings with labels; they get new numbers, and a fifth of them becomes the test.
      folds     = csv("${set}/essential_data/CVfolds_2.txt")
      old       = filter(folds, folds.fold == 0).rec_id
      numbers   = sequence(old)
      test_ids  = sample(numbers, { share = 0.2, random_state = 0 })
      new_folds = table({ rec_id = numbers, fold = isin(numbers, test_ids) ? 1 : 0 })
      names     = where_in(csv("${set}/essential_data/rec_id2filename.txt"), "rec_id", old)
      kept      = assign(names, { rec_id = map(names.rec_id, old, numbers) })

      # The rows of the tables of text are a number, a comma, and a remainder that stays as it is.
      lines = { for path, header in headers : path => skip(text_lines("${set}/${path}.txt", { all_ends = true }), 1) }
      all   = { for path, l in lines : path => table({ rec_id = integer(before(l, ",")), rest = after(l, ",") }) }
      rows  = { for path, t in all : path => where_in(t, "rec_id", old) }
      new   = { for path, t in rows : path => assign(t, { rec_id = map(t.rec_id, old, numbers) }) }
      truth = new[labels]
      shown = { for path, t in new : path => assign(t, { rest = isin(t.rec_id, path == labels ? test_ids : []) ? "?" : t.rest }) }

      pairs   = cross(where_in(truth, "rec_id", test_ids), "species", range(19))
      asked   = cross(where_in(new_folds, "rec_id", test_ids), "species", range(19))
      answers = table({ Id = pairs.rec_id * 100 + pairs.species, Probability = list_holds(pairs.rest, ",", pairs.species) ? 1 : 0 })
    }
    public {
      table "essential_data/CVfolds_2.txt" { rows = new_folds }
      table "essential_data/rec_id2filename.txt" { rows = kept }
      table "sample_submission.csv" { rows = table({ Id = asked.rec_id * 100 + asked.species, Probability = 0 }) }
      text "{each.key}.txt" {
        for_each = headers
        header   = each.value
        lines    = shown[each.key].rest == "" ? text(shown[each.key].rec_id) : "${shown[each.key].rec_id},${shown[each.key].rest}"
      }
      copy "{each.key}" {
        for_each = unchanged
        from     = "${set}/${each.key}"
      }
      files "{each.key}/{filename}.{each.value}" {
        for_each = recordings
        from     = "${set}/${each.key}/{filename}.${each.value}"
        each     = kept
      }
      files "supplemental_data/segmentation_examples/{filename}.bmp" {
        from    = "${set}/supplemental_data/segmentation_examples/{filename}.bmp"
        each    = kept
        missing = "skip"
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  validation {
    kind     = "random"
    share    = "0.2"
    note     = "Held-out recordings keep their ids and files; their labels are question marks. CVfolds_2.txt of the inputs has them as fold 1."
    training = ["essential_data/rec_labels_test_hidden.txt"]
    prepare {
      locals {
        folds   = csv("essential_data/CVfolds_2.txt")
        known   = filter(folds, folds.fold == 0).rec_id
        held    = sample(known, { share = 0.2, random_state = 0 })
        lines   = skip(text_lines("${labels}.txt", { all_ends = true }), 1)
        truth   = table({ rec_id = integer(before(lines, ",")), rest = after(lines, ",") })
        shown   = assign(truth, { rest = isin(truth.rec_id, held) ? "?" : truth.rest })
        pairs   = cross(where_in(truth, "rec_id", held), "species", range(19))
        answers = table({ Id = pairs.rec_id * 100 + pairs.species, Probability = list_holds(pairs.rest, ",", pairs.species) ? 1 : 0 })
      }
      public {
        table "essential_data/CVfolds_2.txt" { rows = table({ rec_id = known, fold = isin(known, held) ? 1 : 0 }) }
        text "{each.key}.txt" {
          for_each = [labels]
          header   = headers[labels]
          lines    = shown.rest == "" ? text(shown.rec_id) : "${shown.rec_id},${shown.rest}"
        }
        table "sample_submission.csv" { rows = fill(answers, ["Probability"], 0) }
      }
      private {
        table "answers.csv" { rows = answers }
      }
    }
  }

  mask {
    refuse = "An id is computed from a recording and a species (100 times the one plus the other), so it cannot be replaced without the species."
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
