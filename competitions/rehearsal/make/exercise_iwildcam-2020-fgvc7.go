package main

import (
	"encoding/json"
	"image/color"
	"time"
)

// These are parts of the JSON files of the camera traps; the names and their order are the
// original's.
type (
	noteWildcam2020 struct {
		Count    int    `json:"count"`
		ImageID  string `json:"image_id"`
		ID       string `json:"id"`
		Category int    `json:"category_id"`
	}
	imageWildcam2020 struct {
		Frames   int    `json:"seq_num_frames"`
		Location int    `json:"location"`
		Time     string `json:"datetime"`
		Frame    int    `json:"frame_num"`
		Sequence string `json:"seq_id"`
		Width    int    `json:"width"`
		Height   int    `json:"height"`
		File     string `json:"file_name"`
		ID       string `json:"id"`
	}
	categoryWildcam2020 struct {
		Count int    `json:"count"`
		Name  string `json:"name"`
		ID    int    `json:"id"`
	}
	infoWildcam2020 struct {
		Contributor string `json:"contributor"`
		Created     string `json:"date_created"`
		Version     string `json:"version"`
		Description string `json:"description"`
		Year        int    `json:"year"`
	}
	filesWildcam2020 struct {
		Annotations []noteWildcam2020     `json:"annotations,omitempty"`
		Images      []imageWildcam2020    `json:"images"`
		Categories  []categoryWildcam2020 `json:"categories"`
		Info        infoWildcam2020       `json:"info"`
	}
	detectionWildcam2020 struct {
		Category string     `json:"category"`
		Box      [4]float64 `json:"bbox"`
		Conf     float64    `json:"conf"`
	}
	detectedWildcam2020 struct {
		Detections []detectionWildcam2020 `json:"detections"`
		ID         string                 `json:"id"`
		Max        float64                `json:"max_detection_conf"`
	}
	detectorWildcam2020 struct {
		Images     []detectedWildcam2020 `json:"images"`
		Categories map[string]string     `json:"detection_categories"`
		Info       map[string]string     `json:"info"`
	}
)

// speciesWildcam2020 are the categories, and the color of the animal.
var speciesWildcam2020 = []struct {
	name  string
	id    int
	color color.RGBA
}{
	{"empty", 0, color.RGBA{}},
	{"tayassu pecari", 2, color.RGBA{40, 40, 50, 255}},
	{"leopardus pardalis", 10, color.RGBA{215, 165, 60, 255}},
	{"meleagris ocellata", 96, color.RGBA{50, 110, 205, 255}},
	{"mazama temama", 115, color.RGBA{200, 70, 40, 255}},
	{"loxodonta africana", 371, color.RGBA{225, 225, 225, 255}},
}

// drawWildcam2020 draws short sequences of pictures of cameras: an animal is a rectangle
// of its species' color; backgrounds differ by camera. The detector is sure of most
// animals, and some pictures have two annotations.
func drawWildcam2020(s *set) {
	info := infoWildcam2020{"iWildCam 2020 organizers", "2020-02-20 17:10:00.000", "1.1", "Synthetic camera trap images", 2020}
	train, test := filesWildcam2020{Info: info}, filesWildcam2020{Info: info}
	detector := detectorWildcam2020{
		Categories: map[string]string{"1": "animal", "2": "person"},
		Info:       map[string]string{"detection_completion_time": "2020-01-10 10:30:00", "format_version": "1.0"},
	}
	counts := map[int]int{}
	for range 90 {
		location := 10 + 7*s.IntN(16)
		for _, shot := range s.sequenceWildcam2020(location, "train/", &detector) {
			note := noteWildcam2020{0, shot.ID, s.uuidWildcam2020(), shot.category}
			if note.Category != 0 {
				note.Count = 1 + s.IntN(2)
			}
			train.Images = append(train.Images, shot.imageWildcam2020)
			train.Annotations = append(train.Annotations, note)
			counts[note.Category]++
			if note.Category != 0 && s.Float64() < 0.04 {
				note.ID, note.Category = s.uuidWildcam2020(), 2
				train.Annotations = append(train.Annotations, note)
			}
		}
	}
	for range 14 {
		for _, shot := range s.sequenceWildcam2020(300+5*s.IntN(4), "test/", &detector) {
			test.Images = append(test.Images, shot.imageWildcam2020)
		}
	}
	var sample [][]string
	for _, shot := range test.Images {
		sample = append(sample, []string{shot.ID, itoa(s.IntN(676))})
	}
	for _, c := range speciesWildcam2020 {
		train.Categories = append(train.Categories, categoryWildcam2020{counts[c.id], c.name, c.id})
	}
	train.Categories = append(train.Categories, categoryWildcam2020{0, "turtur calcospilos", 675})
	test.Categories = train.Categories
	s.json("iwildcam2020_train_annotations.json", train)
	s.json("iwildcam2020_test_information.json", test)
	s.json("iwildcam2020_megadetector_results.json", detector)
	s.csv("sample_submission.csv", []string{"Id", "Category"}, sample)
}

// shotWildcam2020 is a picture with its category.
type shotWildcam2020 struct {
	imageWildcam2020
	category int
}

func (s *set) uuidWildcam2020() string { return s.hex(8) + "-21bc-11ea-a13a-137349068a90" }

// sequenceWildcam2020 draws one to three pictures of the same animal, or of none.
func (s *set) sequenceWildcam2020(location int, folder string, detector *detectorWildcam2020) (shots []shotWildcam2020) {
	kind := speciesWildcam2020[s.weighted(9, 2, 2, 3, 3, 1)]
	id, frames := s.uuidWildcam2020(), 1+s.IntN(3)
	taken := time.Date(2013, 1, 1, 0, 0, s.IntN(4*365*24*3600), 0, time.UTC)
	light := float64(115 + location*37%20)
	for frame := range frames {
		shot := shotWildcam2020{imageWildcam2020{frames, location, taken.Format("2006-01-02 15:04:05.000"), frame, id, 36, 24, "", s.uuidWildcam2020()}, kind.id}
		shot.File = shot.ID + ".jpg"
		taken = taken.Add(time.Second)
		img := s.picture(36, 24, color.RGBA{clip(light), clip(light + 8), clip(light - 10), 255}, 2)
		found := detectedWildcam2020{[]detectionWildcam2020{}, shot.ID, 0}
		if kind.id != 0 {
			x, y := 1+s.IntN(12), 1+s.IntN(6)
			for dy := range 16 {
				for dx := range 22 {
					img.SetRGBA(x+dx, y+dy, kind.color)
				}
			}
			if s.Float64() < 0.9 {
				found.Max = float64(600+s.IntN(400)) / 1000
				box := [4]float64{float64(x) / 36, float64(y) / 24, 22. / 36, 16. / 24}
				found.Detections = append(found.Detections, detectionWildcam2020{"1", box, found.Max})
			}
		} else if s.Float64() < 0.2 {
			found.Max = float64(100+s.IntN(500)) / 1000
			found.Detections = append(found.Detections, detectionWildcam2020{"1", [4]float64{0.25, 0.5, 0.125, 0.25}, found.Max})
		}
		detector.Images = append(detector.Images, found)
		s.file(folder+shot.File, jpegOf(img))
		shots = append(shots, shot)
	}
	return shots
}

// learnWildcam2020 classifies by mean color, and by how sure the detector is.
func learnWildcam2020(l *lesson) {
	var train filesWildcam2020
	must(json.Unmarshal(l.file("iwildcam2020_train_annotations.json"), &train))
	var detector detectorWildcam2020
	must(json.Unmarshal(l.file("iwildcam2020_megadetector_results.json"), &detector))
	sure := map[string]float64{}
	for _, d := range detector.Images {
		sure[d.ID] = d.Max
	}
	features := func(folder, id string) []float64 {
		return append(colors(l.file(folder+id+".jpg")), 30*sure[id])
	}
	var x [][]float64
	var y []string
	for _, note := range train.Annotations {
		x = append(x, features("train/", note.ImageID))
		y = append(y, itoa(note.Category))
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"Category"}, func(r *rows, i int) []string {
		return []string{model.class(features("test/", r.get(i, "Id")))}
	})
}
