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
  answers      = "private/test.csv"
  sample       = "public/sample_submission.csv"

  description = <<-EOT
    Say for each tenth of a second of an American football play which players touch each other or the ground, from videos of
    the play and the tracked positions of the players. A submission gives 0 or 1 for each pair and moment; the score is
    Matthews' correlation coefficient.
  EOT

  source "kaggle" {
    slug = "nfl-player-contact-detection"
    md5  = "9fc02688ee4e93ab144338a90f8d07a8"
  }

  reference {
    sha256            = "9b781fc511e726067e9f141505a947a7afe0588af2157e6f1ed10ed624f2a11d"
    obfuscated_sha256 = "16e8e85721de6dc6f2425aebe5a977a6f13493c77c9438985516666119579b39"
  }

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
      files "train/{game_play}_{view}.mp4" {
        from = "train/{game_play}_{view}.mp4"
        each = cross(table({ game_play = plays.train }), "view", views)
      }
      files "test/{game_play}_{view}.mp4" {
        from = "train/{game_play}_{view}.mp4"
        each = cross(table({ game_play = plays.test }), "view", views)
      }
    }
    private {
      table "test.csv" { rows = test }
    }
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

  checksums {
    public = {
      "sample_submission.csv"      = "e4fe9463edad278506f9911fd86b17f3"
      "test_baseline_helmets.csv"  = "2981cca0abdb9305780edfea905a7ff4"
      "test_player_tracking.csv"   = "dfa825f54143e63aa4b7ccba897e4d3f"
      "test_video_metadata.csv"    = "6978a882a8cf8ec2141e5df6959c2617"
      "train_baseline_helmets.csv" = "063ba03e0ca7acf3c17bd74d704983f0"
      "train_labels.csv"           = "8721fe87ec4fb244ecf217522045ab8c"
      "train_player_tracking.csv"  = "5f8604c4c541db8d1f0247de34e99cd2"
      "train_video_metadata.csv"   = "5ba91169bc8df45c0334db954c86cbc3"
    }
    private = {
      "test.csv" = "fa42cdab2f042c5bd0665d7739a715fb"
    }
  }

  medals {
    leaderboard = "leaderboard.txt"
  }
}
