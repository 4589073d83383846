competition "3d-object-detection-for-autonomous-vehicles" {
  title        = "Lyft 3D Object Detection for Autonomous Vehicles"
  category     = "image-segmentation"
  complexity   = "high"
  opened       = "2019-09-12"
  closed       = "2019-11-12"
  size_gb      = 125.79
  metric_name  = "mean-average-precision"
  sample_score = 0

  description = <<-EOT
    Find cars, pedestrians and other objects around a self-driving car in its camera images and lidar scans, and give
    the 3D bounding box of each. A submission lists the boxes of every sample with their confidence, position, size,
    heading and class; the score is the mean average precision over thresholds of the boxes' overlap.
  EOT

  public_labels "Level 5 perception" {
    url       = "https://level-5.global/data/perception/"
    covers    = "unknown"
    note      = "It has annotated scenes from the same fleet of cars."
    loaders   = ["lyft_dataset_sdk"]
    reference = "https://github.com/lyft/nuscenes-devkit"
  }

  source "kaggle" {}

  locals {
    # The tables of both parts: those that are divided, those that only train has, those that stay whole. Then the map.
    divided  = ["log", "map", "scene", "sample", "sample_data", "ego_pose", "calibrated_sensor"]
    labels   = ["sample_annotation", "instance"]
    whole    = [for name in ["attribute", "category", "sensor", "visibility"] : "data/${name}.json"]
    map_logs = { train = "test", test = "test" } # whose logs the map of each part lists: see the errata
  }

  prepare {
    locals {
      # Everything that was recorded on one drive goes to one part. A scene has the token of its log.
      raw     = { for name in concat(divided, labels) : name => json("train_data/${name}.json") }
      drives  = train_test_split(raw.log.token, { test_size = 0.2, random_state = 0 })
      samples = { for part, logs in drives : part => where_in(raw.sample, "scene_token", logs) }
      boxes   = csv("train.csv", { floats = "fast" })
      rows    = { for part, s in samples : part => where_in(boxes, "Id", s.token) }

      words   = explode_words(rows.test, "PredictionString", ["x", "y", "z", "width", "length", "height", "yaw", "class"])
      place   = "${words.x} ${words.y} ${words.z} ${words.width} ${words.length} ${words.height} ${words.yaw}"
      lines   = assign(words, { PredictionString = "1.0 ${place} ${words.class}" })
      answers = group_join(lines, ["Id"], "PredictionString", " ", { sort = false })

      # What belongs to the samples of a part: the sensor files, the poses and the calibrations that they name.
      data  = { for part, r in rows : part => where_in(raw.sample_data, "sample_token", r.Id) }
      notes = where_in(raw.sample_annotation, "sample_token", rows.train.Id)
      written = { for part, logs in drives : part => {
        log               = where_in(raw.log, "token", logs)
        map               = [with_fields(raw.map[0], { log_tokens = drives[map_logs[part]] })]
        scene             = where_in(raw.scene, "log_token", logs)
        sample            = samples[part]
        sample_data       = data[part]
        ego_pose          = take(raw.ego_pose, positions(raw.ego_pose.token, data[part].ego_pose_token))
        calibrated_sensor = take(raw.calibrated_sensor, positions(raw.calibrated_sensor.token, unique(data[part].calibrated_sensor_token)))
        sample_annotation = notes
        instance          = where_in(raw.instance, "token", notes.instance_token)
      } }
      files = table({
        part = isin(raw.sample_data.sample_token, rows.test.Id) ? "test" : "train"
        kind = raw.sample_data.fileformat == "jpeg" ? "images" : "lidar"
        name = basename(raw.sample_data.filename)
      })
    }
    public {
      table "train.csv" { rows = rows.train }
      table "sample_submission.csv" { rows = table({ Id = rows.test.Id, PredictionString = "" }) }
      json "{each.key}.json" {
        for_each = { for p in concat(setproduct(["train", "test"], divided), setproduct(["train"], labels)) : "${p[0]}_data/${p[1]}" => p }
        value    = written[each.value[0]][each.value[1]]
      }
      copy "{each.key}" {
        for_each = { for p in setproduct(["train", "test"], concat(whole, ["maps/map_raster_palo_alto.png"])) : "${p[0]}_${p[1]}" => "train_${p[1]}" }
        from     = each.value
      }
      files "{part}_{kind}/{name}" {
        from = "train_{kind}/{name}"
        each = files
      }
    }
    private {
      table "test.csv" { rows = answers }
    }
  }

  lint {
    allow "duplicates" {
      file   = "public"
      reason = "The map image, the tables of attributes, categories, sensors and visibility levels and, in v1, the map record are the same in both parts; they contain no labels."
    }
  }

  errata "v2" {
    reason    = "The maps of the training and of the test data both list the logs of the test part, since the same list was changed twice. In v2 each map lists the logs of its own part."
    reference = "prepare.py"
    locals {
      map_logs = { train = "train", test = "test" }
    }
  }

  mask {
    refuse = "The id of a sample is one of the tokens that link the JSON tables of a drive with each other and with the names of its files; the tokens are nested where masking does not look."
  }

  grade {
    metric  = "cuboid_ap"
    id      = "Id"
    targets = ["PredictionString"]
    cells   = "filled"
    require {
      same_rows = true
      columns   = ["Id", "PredictionString"]
      same_ids  = true
    }
  }
}
