competition "rsna-2022-cervical-spine-fracture-detection" {
  title        = "RSNA 2022 Cervical Spine Fracture Detection"
  category     = "image-classification"
  complexity   = "high"
  kind         = "code"
  opened       = "2022-07-28"
  closed       = "2022-10-27"
  size_gb      = 343.51
  metric_name  = "weighted-multi-label-log-loss"
  sample_score = 0.69315
  answers      = "private/answers.csv"

  description = <<-EOT
    Find fractures of the neck in CT scans. A submission gives, for each scan, the probability that any of the seven
    cervical vertebrae is broken and one for each vertebra; the score is a log loss in which the whole neck weighs as
    much as the seven vertebrae together and fractures weigh twice.
  EOT

  source "kaggle" {}

  locals {
    targets = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
  }

  prepare {
    locals {
      all      = csv("train.csv")
      boxed    = csv("train_bounding_boxes.csv")
      box_ids  = sort(unique(boxed.StudyInstanceUID))
      mask_ids = sort(files("segmentations/*.nii").stem)
      both_ids = filter(box_ids, isin(box_ids, mask_ids))

      # A tenth of the scans is train, drawn in turn from those with boxes and masks, with masks only, with boxes only, and
      # all others, so that boxes and masks are as frequent as in the whole.
      n_both  = round(0.1 * length(both_ids), 0)
      n_masks = round(0.1 * length(mask_ids), 0) - n_both
      n_boxes = round(0.1 * length(box_ids), 0) - n_both
      n_more  = round(0.1 * length(all), 0) - n_both - n_masks - n_boxes
      both    = python_sample(both_ids, n_both, { random_state = 0 })
      masks   = python_sample(filter(mask_ids, !isin(mask_ids, both_ids)), n_masks, { random_state = both.next })
      boxes   = python_sample(filter(box_ids, !isin(box_ids, both_ids)), n_boxes, { random_state = masks.next })
      chosen  = concat(both.rows, masks.rows, boxes.rows)
      more    = python_sample(filter(all.StudyInstanceUID, !isin(all.StudyInstanceUID, chosen)), n_more, { random_state = boxes.next })

      train_ids = concat(chosen, more.rows)
      train     = where_in(all, "StudyInstanceUID", train_ids)
      test      = where_not_in(all, "StudyInstanceUID", train_ids)
      answers = concat([for target in targets : assign(select(test, "StudyInstanceUID"), {
        prediction_type = target, fractured = test[target], row_id = "${test.StudyInstanceUID}_${target}"
      })]...)
    }
    public {
      table "train.csv" { rows = train }
      table "train_bounding_boxes.csv" { rows = where_in(boxed, "StudyInstanceUID", concat(both.rows, boxes.rows)) }
      table "test.csv" { rows = drop(answers, "fractured") }
      table "sample_submission.csv" { rows = table({ row_id = answers.row_id, fractured = 0.5 }) }
      files "segmentations/{id}.nii" { each = table({ id = concat(both.rows, masks.rows) }) }
      copy "train_images/{StudyInstanceUID}" { each = train }
      copy "test_images/{StudyInstanceUID}" {
        from = "train_images/{StudyInstanceUID}"
        each = test
      }
    }
    private {
      table "answers.csv" { rows = answers }
    }
  }

  validation {
    kind     = "random"
    share    = "0.1"
    note     = "The competition tests 0.9 of its data; a tenth of the rest is held out."
    training = ["segmentations"]
    locals {
      # The training part is as large here as the test part in the competition.
      n_both  = round(0.9 * length(both_ids), 0)
      n_masks = round(0.9 * length(mask_ids), 0) - n_both
      n_boxes = round(0.9 * length(box_ids), 0) - n_both
      n_more  = round(0.9 * length(all), 0) - n_both - n_masks - n_boxes
    }
  }

  mask {
    refuse = "DICOM files hold the identifiers of patient and study in their headers, which masking does not rewrite."
  }

  grade {
    metric  = "weighted_log_loss"
    params  = { levels = targets, heavy = "patient_overall", weight = 7 }
    id      = "row_id"
    targets = ["fractured"]
    require {
      columns  = ["row_id", "fractured"]
      between  = [0, 1]
      same_ids = true
    }
  }
}
