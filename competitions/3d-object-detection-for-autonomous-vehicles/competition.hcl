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
    Find cars, pedestrians and other objects around a self-driving car in pictures of its cameras and scans of its lidar,
    and give the box in space of each. A submission lists boxes with a confidence, a place, a size, a heading and
    a class for every sample; the score is the mean average precision over thresholds of the overlap of boxes.
  EOT

  source "kaggle" {}

  locals {
    # Whose logs the map of each part lists: in v1 both list those of the test part.
    map_logs = { train = "test", test = "test" }
  }

  prepare {
    locals {
      # Everything that was recorded on one drive goes to one part. A scene has the token of its log.
      logs    = json("train_data/log.json")
      drives  = train_test_split(logs.token, { test_size = 0.2, random_state = 0 })
      maps    = json("train_data/map.json")
      scenes  = json("train_data/scene.json")
      samples = json("train_data/sample.json")
      train   = filter(samples, isin(samples.scene_token, drives.train))
      test    = filter(samples, isin(samples.scene_token, drives.test))

      boxes      = csv("train.csv", { floats = "fast" })
      train_rows = where_in(boxes, "Id", train.token)
      test_rows  = where_in(boxes, "Id", test.token)
      words      = explode_words(test_rows, "PredictionString", ["x", "y", "z", "width", "length", "height", "yaw", "class"])
      lines      = assign(words, { PredictionString = "1.0 ${words.x} ${words.y} ${words.z} ${words.width} ${words.length} ${words.height} ${words.yaw} ${words.class}" })
      answers    = group_join(lines, ["Id"], "PredictionString", " ", { sort = false })

      # What belongs to the samples of a part: the files of the sensors, the poses and calibrations they name, the
      # annotations and, of these, the instances.
      data         = json("train_data/sample_data.json")
      train_data   = filter(data, isin(data.sample_token, train_rows.Id))
      test_data    = filter(data, isin(data.sample_token, test_rows.Id))
      poses        = json("train_data/ego_pose.json")
      calibrations = json("train_data/calibrated_sensor.json")
      notes        = json("train_data/sample_annotation.json")
      train_notes  = filter(notes, isin(notes.sample_token, train_rows.Id))
      instances    = json("train_data/instance.json")

      files = table({
        part = isin(data.sample_token, test_rows.Id) ? "test" : "train"
        kind = data.fileformat == "jpeg" ? "images" : "lidar"
        name = basename(data.filename)
      })
    }
    public {
      table "train.csv" { rows = train_rows }
      table "sample_submission.csv" { rows = table({ Id = test_rows.Id, PredictionString = "" }) }

      json "train_data/log.json" { value = filter(logs, isin(logs.token, drives.train)) }
      json "test_data/log.json" { value = filter(logs, isin(logs.token, drives.test)) }
      json "train_data/map.json" { value = [with_fields(maps[0], { log_tokens = drives[map_logs.train] })] }
      json "test_data/map.json" { value = [with_fields(maps[0], { log_tokens = drives[map_logs.test] })] }
      json "train_data/scene.json" { value = filter(scenes, isin(scenes.log_token, drives.train)) }
      json "test_data/scene.json" { value = filter(scenes, isin(scenes.log_token, drives.test)) }
      json "train_data/sample.json" { value = train }
      json "test_data/sample.json" { value = test }
      json "train_data/sample_data.json" { value = train_data }
      json "test_data/sample_data.json" { value = test_data }
      json "train_data/ego_pose.json" { value = take(poses, positions(poses.token, train_data.ego_pose_token)) }
      json "test_data/ego_pose.json" { value = take(poses, positions(poses.token, test_data.ego_pose_token)) }
      json "train_data/calibrated_sensor.json" { value = take(calibrations, positions(calibrations.token, unique(train_data.calibrated_sensor_token))) }
      json "test_data/calibrated_sensor.json" { value = take(calibrations, positions(calibrations.token, unique(test_data.calibrated_sensor_token))) }
      json "train_data/sample_annotation.json" { value = train_notes }
      json "train_data/instance.json" { value = filter(instances, isin(instances.token, train_notes.instance_token)) }

      files "{part}_data/{name}.json" {
        from = "train_data/{name}.json"
        each = cross(table({ name = column(["attribute", "category", "sensor", "visibility"]) }), "part", ["train", "test"])
      }
      copy "train_maps/map_raster_palo_alto.png" { from = "train_maps/map_raster_palo_alto.png" }
      copy "test_maps/map_raster_palo_alto.png" { from = "train_maps/map_raster_palo_alto.png" }
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
      reason = "The map's picture, the tables of attributes, categories, sensors and visibility levels and, in v1, what it makes of the map are alike in both parts; they hold no label."
    }
  }

  errata "v2" {
    reason    = "Both maps, of the training and of the test data, list the logs of the test part, since one list was changed twice. In v2 each lists its own."
    reference = "prepare.py"
    locals {
      map_logs = { train = "train", test = "test" }
    }
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
