package main

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
)

// lesionSIIM is a lesion: the row of the table, and its photograph.
type lesionSIIM struct {
	row   []string
	photo []byte
}

// drawLesionSIIM draws a lesion: a melanoma is darker, and its patient older, mostly.
func drawLesionSIIM(s *set) lesionSIIM {
	sites := []string{"torso", "lower extremity", "upper extremity", "head/neck", "palms/soles", "oral/genital", ""}
	target := s.weighted(6, 1)
	c := color.RGBA{clip(s.normal(185-25*float64(target), 12)), clip(s.normal(140-30*float64(target), 12)), clip(s.normal(125-15*float64(target), 12)), 255}
	age, diagnosis, kind := ftoa(float64(5*(5+s.IntN(11)+3*target)), 1), "unknown", "benign"
	if s.IntN(40) == 0 {
		age = ""
	}
	if target == 1 {
		diagnosis, kind = "melanoma", "malignant"
	} else if s.IntN(5) == 0 {
		diagnosis = s.one("nevus", "nevus", "nevus", "seborrheic keratosis", "lentigo NOS")
	}
	row := []string{
		fmt.Sprintf("ISIC_%07d", 15000+s.IntN(9_950_000)), fmt.Sprintf("IP_%07d", 5000+40_000*s.IntN(240)), s.one("male", "female", "male", "female", "male", "female", ""),
		age, sites[s.weighted(51, 25, 15, 6, 1, 1, 2)], diagnosis, kind, itoa(target),
	}
	return lesionSIIM{row, jpegOf(s.picture(24, 16, c, 2))}
}

// record returns the lesion as a TensorFlow record, with or without the answer.
func (p lesionSIIM) record(answer bool) []byte {
	number := func(of string, all ...string) int { return slices.Index(all, of) }
	years, _ := strconv.ParseFloat(p.row[3], 64)
	patient, err := strconv.Atoi(strings.TrimPrefix(p.row[1], "IP_"))
	must(err)
	features := []featureTF{
		{name: "image", bytes: p.photo}, {name: "image_name", bytes: []byte(p.row[0])}, {name: "patient_id", integer: patient},
		{name: "sex", integer: number(p.row[2], "male", "female")}, {name: "age_approx", integer: int(years)},
		{name: "anatom_site_general_challenge", integer: number(p.row[4], "head/neck", "upper extremity", "lower extremity", "torso", "palms/soles", "oral/genital")},
	}
	if answer {
		features = append(features, featureTF{name: "diagnosis", integer: number(p.row[5], "unknown", "nevus", "melanoma", "seborrheic keratosis", "lentigo NOS")}, featureTF{name: "target", integer: number(p.row[7], "0", "1")})
	}
	return recordTF(append(features, featureTF{name: "width", integer: 24}, featureTF{name: "height", integer: 16})...)
}

// dicom returns the lesion as a DICOM file that holds the JPEG.
func (p lesionSIIM) dicom() []byte {
	short := func(v byte) string { return string([]byte{v, 0}) }
	class, instance := "1.2.840.10008.5.1.4.1.1.77.1.4", "1.3.6.1.4.1.5962."+strings.TrimLeft(p.row[0], "ISC_0")
	meta := encode([]element{{2, 1, "OB", "\x00\x01"}, {2, 2, "UI", class}, {2, 3, "UI", instance}, {2, 0x10, "UI", "1.2.840.10008.1.2.4.50"}})
	age := ""
	if p.row[3] != "" {
		age = "0" + strings.TrimSuffix(p.row[3], ".0") + "Y"
	}
	about := encode([]element{
		{8, 0x16, "UI", class}, {8, 0x18, "UI", instance}, {8, 0x60, "CS", "XC"}, {0x10, 0x20, "LO", p.row[1]},
		{0x10, 0x40, "CS", strings.ToUpper(p.row[2] + " ")[:1]}, {0x10, 0x1010, "AS", age}, {0x18, 0x15, "CS", strings.ToUpper(p.row[4])},
		{0x28, 2, "US", short(3)}, {0x28, 4, "CS", "YBR_FULL_422"}, {0x28, 6, "US", short(0)}, {0x28, 0x10, "US", short(16)}, {0x28, 0x11, "US", short(24)},
		{0x28, 0x100, "US", short(8)}, {0x28, 0x101, "US", short(8)}, {0x28, 0x102, "US", short(7)}, {0x28, 0x103, "US", short(0)},
	})
	photo := append(slices.Clone(p.photo), make([]byte, len(p.photo)%2)...)
	// The picture is a list of items without a length: an empty table, the JPEG and an end.
	return slices.Concat(
		make([]byte, 128), []byte("DICM"), encode([]element{{2, 0, "UL", string([]byte{byte(len(meta)), 0, 0, 0})}}), meta, about,
		[]byte("\xe0\x7f\x10\x00OB\x00\x00\xff\xff\xff\xff\xfe\xff\x00\xe0\x00\x00\x00\x00\xfe\xff\x00\xe0"),
		[]byte{byte(len(photo)), byte(len(photo) >> 8), 0, 0}, photo, []byte("\xfe\xff\xdd\xe0\x00\x00\x00\x00"),
	)
}

// drawSIIM draws lesions, each as DICOM, as JPEG and in one of 16 record files.
func drawSIIM(s *set) {
	var train, test, sample [][]string
	for i := range 16 {
		var records []byte
		for range 12 {
			p := drawLesionSIIM(s)
			train = append(train, p.row)
			s.file("train/"+p.row[0]+".dcm", p.dicom())
			s.file("jpeg/train/"+p.row[0]+".jpg", p.photo)
			records = append(records, p.record(true)...)
		}
		s.file(fmt.Sprintf("tfrecords/train%02d-%d.tfrec", i, []int{2071, 2061}[i/15]), records)
	}
	var records []byte
	for range 3 {
		p := drawLesionSIIM(s)
		test, sample = append(test, p.row[:5]), append(sample, []string{p.row[0], "0"})
		s.file("test/"+p.row[0]+".dcm", p.dicom())
		s.file("jpeg/test/"+p.row[0]+".jpg", p.photo)
		records = append(records, p.record(false)...)
	}
	s.file("tfrecords/test00-687.tfrec", records)
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	header := strings.Split("image_name,patient_id,sex,age_approx,anatom_site_general_challenge,diagnosis,benign_malignant,target", ",")
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:5], test)
	s.csv("sample_submission.csv", []string{"image_name", "target"}, sample)
}

// learnSIIM classifies by mean color and age.
func learnSIIM(l *lesson) {
	features := func(r *rows, i int, folder string) []float64 {
		return append(colors(l.file("jpeg/"+folder+"/"+r.get(i, "image_name")+".jpg")), r.number(i, "age_approx"))
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.classifier("target", func(r *rows, i int) []float64 { return features(r, i, "train") })
	l.submitLike("sample_submission.csv", []string{"target"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.probability(features(test, i, "test"), "1"), 6)}
	})
}
