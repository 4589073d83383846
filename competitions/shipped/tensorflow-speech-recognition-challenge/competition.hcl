competition "tensorflow-speech-recognition-challenge" {
  title        = "TensorFlow Speech Recognition Challenge"
  category     = "audio-classification"
  complexity   = "medium"
  opened       = "2017-11-15"
  closed       = "2018-01-16"
  size_gb      = 3.76
  metric_name  = "accuracy"
  sample_score = 0

  description = <<-EOT
    Recognise the word in a one-second recording: one of ten commands, another word, or silence. A submission gives a
    label for each clip; the score is the accuracy.
  EOT

  public_labels "Speech Commands" {
    url       = "https://www.tensorflow.org/datasets/catalog/speech_commands"
    covers    = "all"
    note      = "The labelled recordings, from which hidden rows are drawn, are its first version."
    loaders   = ["speech_commands", "google/speech_commands", "SPEECHCOMMANDS"]
    reference = "description.md"
  }

  source "kaggle" {}

  locals {
    commands = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"]

    # Whether the test labels are those of the task, and whether all clips of a speaker are in one part: see the errata.
    fold_labels    = false
    split_speakers = false
  }

  prepare {
    extract = ["train.7z"]
    locals {
      found    = files("train/audio/**/*.wav")
      keyed    = assign(found, { key = "${found.folder}_${found.name}", speaker = before(found.stem, "_nohash_") })
      clips    = sort_values(keyed, "key", "path")
      by_clip  = train_test_split(clips, { test_size = 0.1, random_state = 0 })
      speakers = train_test_split(sort(unique(clips.speaker)), { test_size = 0.1, random_state = 0 })

      # The clips of the test speakers are shuffled, since they are sorted by label.
      train = split_speakers ? where_in(clips, "speaker", speakers.train) : by_clip.train
      asked = split_speakers ? sample(where_in(clips, "speaker", speakers.test), { share = 1, random_state = 0 }) : by_clip.test
      test  = assign(asked, { fname = "clip_${zfill(sequence(asked), 8)}.wav" })

      folded = isin(test.folder, commands) ? test.folder : test.folder == "_background_noise_" ? "silence" : "unknown"
      label  = fold_labels ? folded : test.folder
    }
    public {
      files "train/audio/{folder}/{name}" {
        from = "{path}"
        each = train
      }
      files "test/audio/{fname}" {
        from = "{path}"
        each = test
      }
      table "sample_submission.csv" { rows = table({ fname = test.fname, label = "silence" }) }
    }
    private {
      table "test.csv" { rows = table({ fname = test.fname, label = label }) }
    }
  }

  grade {
    metric  = "accuracy"
    id      = "fname"
    targets = ["label"]
    require {
      same_rows = true
      columns   = ["label", "fname"]
      same_ids  = true
    }
  }

  errata "v2" {
    reason    = "The test labels are the names of the folders, 30 words and _background_noise_, though the task has twelve classes, so that unknown and silence are never correct; and clips of the same speaker are in both parts. v2 labels words that are not commands as unknown and background noise as silence, and puts all clips of a speaker into one part."
    reference = "https://github.com/openai/mle-bench/issues/63"
    locals {
      fold_labels    = true
      split_speakers = true
    }
  }
}
