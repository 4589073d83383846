package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/color"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// thingLyft is an object that stands beside the road.
type thingLyft struct {
	class       string
	x, y, yaw   float64
	w, l, h     float64
	token       string
	annotations []string
}

// sizesLyft are the typical width, length and height of the classes.
var sizesLyft = map[string][3]float64{
	"car": {1.9, 4.8, 1.7}, "pedestrian": {0.75, 0.8, 1.75}, "truck": {2.8, 9, 3.3}, "bus": {2.9, 12.3, 3.5}, "bicycle": {0.6, 1.75, 1.4},
}

const groundLyft = -23.5 // the height of the road

// worldLyft are the tables while they are drawn.
type worldLyft struct {
	*set
	tables     map[string][]any
	sensors    [3]string
	categories map[string]string
	boxes      [][]string
}

func (w *worldLyft) add(table string, fields ...any) {
	w.tables[table] = append(w.tables[table], ordered(fields))
}

// drawLyft draws drives past a few objects: the lidar's points lie on the corners and
// sides of the boxes, whose sizes depend on the class.
func drawLyft(s *set) {
	w := &worldLyft{set: s, tables: map[string][]any{}, categories: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(sizesLyft)) {
		w.categories[name] = s.hex(64)
		w.add("category", "description", "", "name", name, "token", w.categories[name])
	}
	for _, name := range []string{"object_action_parked", "object_action_stopped", "is_stationary"} {
		w.add("attribute", "description", "", "name", name, "token", s.hex(64))
	}
	for i, channel := range []string{"CAM_FRONT", "CAM_BACK", "LIDAR_TOP"} {
		w.sensors[i] = s.hex(64)
		w.add("sensor", "modality", []string{"camera", "camera", "lidar"}[i], "channel", channel, "token", w.sensors[i])
	}
	for i, level := range []string{"v0-40", "v40-60", "v60-80", "v80-100"} {
		w.add("visibility", "description", "", "token", itoa(i+1), "level", level)
	}
	var logs []string
	mapToken := s.hex(64)
	for i := range 12 {
		logs = append(logs, w.drive(i, mapToken))
	}
	w.add("map", "log_tokens", logs, "category", "semantic_prior", "token", mapToken, "filename", "maps/map_raster_palo_alto.png")
	for name, rows := range w.tables {
		s.json("train_data/"+name+".json", rows)
		switch name {
		case "attribute", "category", "sensor", "visibility":
			s.json("test_data/"+name+".json", rows)
		default:
			s.json("test_data/"+name+".json", []any{})
		}
	}
	for _, part := range []string{"train", "test"} {
		s.file(part+"_maps/map_raster_palo_alto.png", pngOf(gray(48, 48, func(x, y int) float64 { return float64(160 * ((x/12 + y/12) % 2)) })))
	}
	s.file("test_images/host-a011_cam0_1233514529197294006.jpeg", jpegOf(s.picture(24, 20, color.RGBA{120, 120, 120, 255}, 4)))
	s.file("test_lidar/host-a011_lidar1_1233514529197294006.bin", make([]byte, 20))
	s.csv("train.csv", []string{"Id", "PredictionString"}, w.boxes)
	s.csv("sample_submission.csv", []string{"Id", "PredictionString"}, [][]string{{s.hex(64), ""}})
}

// drive draws one log with its scene, and returns its token.
func (w *worldLyft) drive(number int, mapToken string) string {
	token, host := w.hex(64), "host-a"+fmt.Sprintf("%03d", 4+7*number)
	w.add("log", "date_captured", fmt.Sprintf("2019-0%d-1%d", 3+number%5, number%10), "location", "Palo Alto", "token", token,
		"vehicle", strings.TrimPrefix(host, "host-"), "logfile", "", "map_token", mapToken)
	var calibrated [3]string
	lidar := [4]float64{1.2, 0, 1.8, 0.02}
	for i := range calibrated {
		calibrated[i] = w.hex(64)
		intrinsic := []any{}
		if i < 2 {
			intrinsic = []any{[]float64{882.4, 0, 610.6}, []float64{0, 882.4, 511.2}, []float64{0, 0, 1}}
		}
		yaw := []float64{0, math.Pi, lidar[3]}[i]
		w.add("calibrated_sensor", "sensor_token", w.sensors[i], "rotation", turnLyft(yaw), "camera_intrinsic", intrinsic,
			"translation", lidar[:3], "token", calibrated[i])
	}
	const steps = 4
	heading := w.between(-3, 3)
	x, y := w.between(500, 2500), w.between(500, 2500)
	var things []*thingLyft
	for _, slot := range w.Perm(6)[:3+w.IntN(2)] {
		class := []string{"car", "pedestrian", "truck", "bus", "bicycle"}[w.weighted(10, 2, 1, 1, 1)]
		size := sizesLyft[class]
		ahead, aside := float64(slot%3-1)*40+w.between(-3, 3), float64(slot/3)*40-20+w.between(-3, 3)
		dx, dy := rotateLyft(ahead, aside, heading)
		thing := &thingLyft{
			class: class, x: roundLyft(x + dx), y: roundLyft(y + dy), token: w.hex(64),
			yaw: roundLyft(heading + float64(w.IntN(2))*math.Pi + w.normal(0, 0.02)),
			w:   roundLyft(size[0] * w.normal(1, 0.03)), l: roundLyft(size[1] * w.normal(1, 0.03)), h: roundLyft(size[2] * w.normal(1, 0.03)),
		}
		for range steps {
			thing.annotations = append(thing.annotations, w.hex(64))
		}
		things = append(things, thing)
	}
	samples := make([]string, steps)
	for i := range samples {
		samples[i] = w.hex(64)
	}
	w.add("scene", "log_token", token, "first_sample_token", samples[0], "name", host+"-lidar0-"+itoa(1230000000+number), "description", "",
		"last_sample_token", samples[steps-1], "nbr_samples", steps, "token", token)
	for step := range samples {
		dx, dy := rotateLyft(3*float64(step), 0, heading)
		pose := [4]float64{roundLyft(x + dx), roundLyft(y + dy), groundLyft, heading}
		w.sample(token, host, samples, step, calibrated, pose, lidar, things)
	}
	for _, t := range things {
		w.add("instance", "last_annotation_token", t.annotations[steps-1], "category_token", w.categories[t.class], "token", t.token,
			"nbr_annotations", steps, "first_annotation_token", t.annotations[0])
	}
	return token
}

// sample draws one moment: its boxes, the pictures and the lidar's points.
func (w *worldLyft) sample(log, host string, samples []string, step int, calibrated [3]string, pose, lidar [4]float64, things []*thingLyft) {
	token, at := samples[step], 1557858039302414+int64(len(w.boxes))*200000
	prev, next := besideLyft(samples, step)
	w.add("sample", "next", next, "prev", prev, "token", token, "timestamp", at, "scene_token", log)
	var words []string
	var cloud bytes.Buffer
	for i, t := range things {
		before, after := besideLyft(t.annotations, step)
		z := roundLyft(groundLyft + t.h/2)
		w.add("sample_annotation", "token", t.annotations[step], "num_lidar_pts", 12, "size", []float64{t.w, t.l, t.h}, "sample_token", token,
			"rotation", turnLyft(t.yaw), "prev", before, "translation", []float64{t.x, t.y, z}, "num_radar_pts", 0,
			"attribute_tokens", []string{}, "next", after, "instance_token", t.token, "visibility_token", itoa(1+i%4))
		for _, v := range []float64{t.x, t.y, z, t.w, t.l, t.h, t.yaw} {
			words = append(words, strconv.FormatFloat(v, 'g', -1, 64))
		}
		words = append(words, t.class)
		w.points(&cloud, t, pose, lidar)
	}
	w.boxes = append(w.boxes, []string{token, strings.Join(words, " ")})
	for i, kind := range []string{"cam0", "cam1", "lidar1"} {
		id, ego, name := w.hex(64), w.hex(64), fmt.Sprintf("%s_%s_%d", host, kind, at)
		width, height, format := any(1224), any(1024), "jpeg"
		if i < 2 {
			c := color.RGBA{uint8(90 + w.IntN(60)), 120, uint8(110 + 20*i), 255} //nolint:gosec // below 256
			w.file("train_images/"+name+".jpeg", jpegOf(w.picture(24, 20, c, 4)))
			name = "images/" + name
		} else {
			width, height, format = nil, nil, "bin"
			w.file("train_lidar/"+name+".bin", cloud.Bytes())
			name = "lidar/" + name
		}
		w.add("sample_data", "width", width, "height", height, "calibrated_sensor_token", calibrated[i], "token", id, "sample_token", token,
			"is_key_frame", true, "prev", "", "fileformat", format, "ego_pose_token", ego, "timestamp", at, "next", "", "filename", name+"."+format)
		w.add("ego_pose", "rotation", turnLyft(pose[3]), "translation", pose[:3], "token", ego, "timestamp", at)
	}
}

// besideLyft returns the tokens before and after one, empty at the ends.
func besideLyft(tokens []string, at int) (prev, next string) {
	if at > 0 {
		prev = tokens[at-1]
	}
	if at < len(tokens)-1 {
		next = tokens[at+1]
	}
	return prev, next
}

// points writes the lidar's points on one object, five numbers each: the place as the
// lidar sees it, intensity and ring.
func (w *worldLyft) points(to *bytes.Buffer, t *thingLyft, pose, lidar [4]float64) {
	for i := range 12 {
		l, side, up := float64(i%2)-0.5, float64(i/2%2)-0.5, t.h
		if i >= 4 {
			up = w.between(0.3, t.h)
		}
		if i >= 8 {
			l = w.between(-0.5, 0.5)
		}
		x, y := rotateLyft(l*t.l, side*t.w, t.yaw)
		x, y = rotateLyft(x+t.x-pose[0], y+t.y-pose[1], -pose[3])
		x, y = rotateLyft(x-lidar[0], y-lidar[1], -lidar[3])
		for _, v := range []float64{x, y, up - lidar[2], 100, float64(w.IntN(4))} {
			must(binary.Write(to, binary.LittleEndian, float32(math.Round(v*32)/32)))
		}
	}
}

func roundLyft(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func rotateLyft(x, y, yaw float64) (rx, ry float64) {
	sin, cos := math.Sincos(yaw)
	return x*cos - y*sin, x*sin + y*cos
}

// turnLyft is the quaternion of a rotation about the upright axis.
func turnLyft(yaw float64) []float64 {
	return []float64{math.Cos(yaw / 2), 0, 0, math.Sin(yaw / 2)}
}

// clusterLyft is a group of lidar points: its middle, its top and its extent, as the car
// is heading.
type clusterLyft struct{ x, y, top, yaw, long, across, high float64 }

// seenLyft returns the clusters of all samples of a part.
func seenLyft(l *lesson, part string) map[string][]clusterLyft {
	read := func(name string) map[string]map[string]any {
		var rows []map[string]any
		must(json.Unmarshal(l.file(part+"_data/"+name+".json"), &rows))
		by := map[string]map[string]any{}
		for _, r := range rows {
			by[r["token"].(string)] = r
		}
		return by
	}
	place := func(r map[string]any) (p [4]float64) {
		for i := range 3 {
			p[i] = r["translation"].([]any)[i].(float64)
		}
		turn := r["rotation"].([]any)
		p[3] = 2 * math.Atan2(turn[3].(float64), turn[0].(float64))
		return p
	}
	poses, sensors := read("ego_pose"), read("calibrated_sensor")
	seen := map[string][]clusterLyft{}
	for _, d := range read("sample_data") {
		if d["fileformat"] != "bin" {
			continue
		}
		data := l.file(part + "_lidar/" + path.Base(d["filename"].(string)))
		points := make([][5]float32, len(data)/20)
		must(binary.Read(bytes.NewReader(data), binary.LittleEndian, points))
		pose, sensor := place(poses[d["ego_pose_token"].(string)]), place(sensors[d["calibrated_sensor_token"].(string)])
		seen[d["sample_token"].(string)] = clustersLyft(points, pose, sensor)
	}
	return seen
}

// clustersLyft groups points that lie within a few meters.
func clustersLyft(points [][5]float32, pose, sensor [4]float64) []clusterLyft {
	var groups [][][3]float64
	for _, p := range points {
		x, y := rotateLyft(float64(p[0]), float64(p[1]), sensor[3])
		at := [3]float64{x + sensor[0], y + sensor[1], float64(p[2]) + sensor[2]}
		i := slices.IndexFunc(groups, func(g [][3]float64) bool { return math.Hypot(g[0][0]-at[0], g[0][1]-at[1]) < 15 })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], at)
	}
	var found []clusterLyft
	for _, g := range groups {
		lo, hi := g[0], g[0]
		for _, p := range g {
			for k, v := range p {
				lo[k], hi[k] = min(lo[k], v), max(hi[k], v)
			}
		}
		x, y := rotateLyft((lo[0]+hi[0])/2, (lo[1]+hi[1])/2, pose[3])
		found = append(found, clusterLyft{pose[0] + x, pose[1] + y, pose[2] + hi[2], pose[3], hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]})
	}
	return found
}

// learnLyft learns the classes from the extent of the points, and the mean size of a class.
func learnLyft(l *lesson) {
	train, seen := l.rows("train.csv"), seenLyft(l, "train")
	var x [][]float64
	var y []string
	sizes := map[string][3][]float64{}
	for i := range train.len() {
		words := strings.Fields(train.get(i, "PredictionString"))
		for ; len(words) >= 8; words = words[8:] {
			var v [7]float64
			for k := range v {
				v[k], _ = strconv.ParseFloat(words[k], 64)
			}
			for _, c := range seen[train.get(i, "Id")] {
				if math.Hypot(c.x-v[0], c.y-v[1]) > 3 {
					continue
				}
				x, y = append(x, []float64{c.long, c.across, c.high}), append(y, words[7])
				all := sizes[words[7]]
				for k := range all {
					all[k] = append(all[k], v[3+k])
				}
				sizes[words[7]] = all
			}
		}
	}
	model, tests := fitCentroids(x, y), seenLyft(l, "test")
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(r *rows, i int) []string {
		var words []string
		for _, c := range tests[r.get(i, "Id")] {
			class := model.class([]float64{c.long, c.across, c.high})
			size := sizes[class]
			high := mean(size[2])
			for _, v := range []float64{1, c.x, c.y, c.top - high/2, mean(size[0]), mean(size[1]), high, c.yaw} {
				words = append(words, ftoa(v, 4))
			}
			words = append(words, class)
		}
		return []string{strings.Join(words, " ")}
	})
}
