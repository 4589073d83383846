competition "nfl-player-contact-detection" {
  title        = "1st and Future - Player Contact Detection"
  category     = "video-classification"
  complexity   = "high"
  kind         = "code"
  opened       = "2022-12-05"
  closed       = "2023-03-01"
  size_gb      = 5.01
  metric_name  = "matthews-correlation-coefficient"
  sample_score = 0

  description = <<-EOT
    Predict, for each tenth of a second of an American football play, which players touch each other or the ground,
    from videos of the play and the tracked positions of the players. A submission gives 0 or 1 for each pair and
    moment; the score is Matthews' correlation coefficient.
  EOT

  source "kaggle" {}

  prepare {
    locals {
      labels = csv("train_labels.csv", { floats = "fast" })
      plays  = train_test_split(unique(labels.game_play), { test_size = 0.1, random_state = 0 })
      train  = where_in(labels, "game_play", plays.train)
      test   = where_in(labels, "game_play", plays.test)

      helmets  = csv("train_baseline_helmets.csv", { floats = "fast" })
      tracking = csv("train_player_tracking.csv", { floats = "fast" })
      metadata = csv("train_video_metadata.csv", { floats = "fast" })

      views = ["All29", "Endzone", "Sideline"]
    }
    public {
      table "train_labels.csv" { rows = train }
      table "train_baseline_helmets.csv" { rows = where_in(helmets, "game_play", plays.train) }
      table "test_baseline_helmets.csv" { rows = where_in(helmets, "game_play", plays.test) }
      table "train_player_tracking.csv" { rows = where_in(tracking, "game_play", plays.train) }
      table "test_player_tracking.csv" { rows = where_in(tracking, "game_play", plays.test) }
      table "train_video_metadata.csv" { rows = where_in(metadata, "game_play", plays.train) }
      table "test_video_metadata.csv" { rows = where_in(metadata, "game_play", plays.test) }
      table "sample_submission.csv" { rows = table({ contact_id = test.contact_id, contact = 0 }) }
      files "train/{game_play}_{view}.mp4" { each = cross(table({ game_play = plays.train }), "view", views) }
      files "test/{game_play}_{view}.mp4" {
        from = "train/{game_play}_{view}.mp4"
        each = cross(table({ game_play = plays.test }), "view", views)
      }
    }
    private {
      table "test.csv" { rows = test }
    }
  }

  mask {
    columns = { contact_id = "^[0-9]+", game_play = "^[0-9]+", game_key = "", video = "^[0-9]+" }
    names   = "^([0-9]+)_"
  }

  grade {
    metric  = "mcc"
    id      = "contact_id"
    targets = ["contact"]
    require {
      columns     = ["contact_id", "contact"]
      same_id_set = true
      same_rows   = true
    }
  }
}
