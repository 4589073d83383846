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
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Find fractures of the neck in CT scans. A submission gives, for each scan, the probability that any of the seven
    cervical vertebrae is broken and one for each vertebra; the score is a log loss in which the whole neck weighs as much as
    the seven vertebrae and fractures weigh twice.
  EOT

  source "kaggle" {
    slug = "rsna-2022-cervical-spine-fracture-detection"
    md5  = "2b38d6c8f3f357d56a247b09769e862b"
  }

  reference {
    sha256            = "bfb12ae0706a108c9c9014a14cadcbc0c93cb9900e2eb87b8af6e719f328669b"
    obfuscated_sha256 = "1219f135ff60ccc807509cb8bb19a744f7c036bb043594d779bd77d79a1e488f"
  }

  locals {
    targets = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
  }

  prepare {
    locals {
      all      = csv("train.csv")
      boxed    = csv("train_bounding_boxes.csv")
      box_ids  = sort(unique(local.boxed.StudyInstanceUID))
      mask_ids = sort(files("segmentations/*.nii").stem)
      both_ids = filter(local.box_ids, is_in(local.box_ids, local.mask_ids))

      # A tenth of the scans is train, drawn in turn from those with boxes and masks, with masks only, with boxes only, and
      # all others, so that boxes and masks are as frequent as in the whole.
      n_both  = round(0.1 * length(local.both_ids), 0)
      n_masks = round(0.1 * length(local.mask_ids), 0) - local.n_both
      n_boxes = round(0.1 * length(local.box_ids), 0) - local.n_both
      n_train = round(0.1 * length(local.all), 0)

      both   = python_sample(local.both_ids, local.n_both, { random_state = 0 })
      masks  = python_sample(filter(local.mask_ids, !is_in(local.mask_ids, local.both_ids)), local.n_masks, { random_state = local.both.next })
      boxes  = python_sample(filter(local.box_ids, !is_in(local.box_ids, local.both_ids)), local.n_boxes, { random_state = local.masks.next })
      chosen = concat(local.both.rows, local.masks.rows, local.boxes.rows)
      others = filter(local.all.StudyInstanceUID, !is_in(local.all.StudyInstanceUID, local.chosen))
      more   = python_sample(local.others, local.n_train - length(local.chosen), { random_state = local.boxes.next })

      train_ids = concat(local.chosen, local.more.rows)
      train     = where_in(local.all, "StudyInstanceUID", local.train_ids)
      test      = where_not_in(local.all, "StudyInstanceUID", local.train_ids)
      answers = concat([for target in local.targets : table({
        StudyInstanceUID = local.test.StudyInstanceUID
        prediction_type  = target
        fractured        = local.test[target]
        row_id           = "${local.test.StudyInstanceUID}_${target}"
      })]...)
    }
    public {
      table "train.csv" { rows = local.train }
      table "train_bounding_boxes.csv" {
        rows = where_in(local.boxed, "StudyInstanceUID", concat(local.both.rows, local.boxes.rows))
      }
      table "test.csv" { rows = drop(local.answers, "fractured") }
      table "sample_submission.csv" { rows = table({ row_id = local.answers.row_id, fractured = 0.5 }) }
      files "segmentations/{id}.nii" {
        from = "segmentations/{id}.nii"
        each = table({ id = concat(local.both.rows, local.masks.rows) })
      }
      copy "train_images/{StudyInstanceUID}" {
        from = "train_images/{StudyInstanceUID}"
        each = local.train
      }
      copy "test_images/{StudyInstanceUID}" {
        from = "train_images/{StudyInstanceUID}"
        each = local.test
      }
    }
    private {
      table "answers.csv" { rows = local.answers }
    }
  }

  grade {
    metric  = "weighted_log_loss"
    params  = { levels = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"], heavy = "patient_overall", weight = 7 }
    id      = "row_id"
    targets = ["fractured"]
    require {
      columns  = ["row_id", "fractured"]
      between  = [0, 1]
      same_ids = true
    }
  }

  checksums {
    public = {
      "sample_submission.csv"    = "2690b6c1b8c2fbc8d090e8fb00c1d79f"
      "test.csv"                 = "d5c91b7191186743a2aa74b904207931"
      "train.csv"                = "812aecfc08948d621decc684759e243a"
      "train_bounding_boxes.csv" = "d74270bdb517e79f9f2ac6a0f90825fd"
    }
    private = {
      "answers.csv" = "9d13e08d12211a39b8c5d2c29a9e7e8f"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
