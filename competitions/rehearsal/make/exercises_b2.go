package main

import (
	"encoding/json"
	"fmt"
	"image/color"
	"maps"
	"path"
	"slices"
	"strings"
)

// tintsB are colors for so many classes, far from each other: the corners and middles
// of a cube.
func tintsB(classes int) []color.RGBA {
	var all []color.RGBA
	for i := range classes {
		at := func(step int) uint8 { return uint8(60 + 65*(i*7/step%3)) } //nolint:gosec // at most 190
		all = append(all, color.RGBA{at(1), at(3), at(9), 255})
	}
	return all
}

// nearB varies a color a little.
func (s *set) nearB(c color.RGBA) color.RGBA {
	vary := func(v uint8) uint8 { return clip(float64(v) + s.normal(0, 9)) }
	return color.RGBA{vary(c.R), vary(c.G), vary(c.B), 255}
}

// drawCdiscount draws products with one to four pictures each: the color depends on the
// category.
func drawCdiscount(s *set) {
	words := []string{"TELEPHONIE", "LIVRE", "JARDIN", "MEUBLE", "JOUET", "LITERIE", "CUISINE", "SPORT", "BAGAGE", "AUTO", "PEINTURE", "LAMPE"}
	ids, levels := []int32{1000010653}, [][]string{}
	for len(ids) < len(words) {
		ids = append(ids, ids[len(ids)-1]+1+int32(s.IntN(900))) //nolint:gosec // below 2^31
	}
	for i, id := range ids {
		levels = append(levels, []string{itoa(int(id)), words[i], words[i] + " - ACCESSOIRE", "PIECE " + words[i] + " " + s.one("SEULE", "NEUVE", "À COMPOSER")})
	}
	tints := tintsB(len(ids))
	products := func(first int32, n int, test bool) (data []byte, named [][]string) {
		id := first
		for range n {
			kind := s.weighted(5, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1)
			p := productBSON{id: id, category: ids[kind]}
			if test {
				p.category = 0
			}
			for range 1 + s.weighted(6, 2, 1, 1) {
				p.pictures = append(p.pictures, jpegOf(s.picture(18, 18, s.nearB(tints[kind]), 3)))
			}
			data = p.append(data)
			named = append(named, []string{itoa(int(id)), "1000010653"})
			id += 1 + int32(s.IntN(5)) //nolint:gosec // small
		}
		return data, named
	}
	train, _ := products(0, 260, false)
	example, _ := products(0, 10, false)
	test, sample := products(10, 5, true)
	s.file("train.bson", train)
	s.file("train_example.bson", example)
	s.file("test.bson", test)
	s.csv("category_names.csv", []string{"category_id", "category_level1", "category_level2", "category_level3"}, levels)
	s.csv("sample_submission.csv", []string{"_id", "category_id"}, sample)
}

// learnCdiscount classifies by the mean color of a product's first picture.
func learnCdiscount(l *lesson) {
	var x [][]float64
	var y []string
	for _, p := range productsBSON(l.file("train.bson")) {
		x, y = append(x, colors(p.pictures[0])), append(y, itoa(int(p.category)))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, p := range productsBSON(l.file("test.bson")) {
		found[itoa(int(p.id))] = model.class(colors(p.pictures[0]))
	}
	l.submitLike("sample_submission.csv", []string{"category_id"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "_id")]}
	})
}

// topicsFacebook are tags, and words that their questions use.
var topicsFacebook = map[string][]string{
	"javascript": {"browser", "callback", "event", "dom"}, "c#": {"linq", "winforms", "assembly", "delegate"},
	"python": {"list", "dictionary", "import", "decorator"}, "php": {"session", "form", "echo", "include"},
	"java": {"thread", "interface", "jar", "servlet"}, "sql": {"join", "query", "index", "select"},
	"ios": {"iphone", "view", "controller", "xcode"}, "linux": {"shell", "kernel", "mount", "permission"},
	"asp.net": {"page", "viewstate", "gridview", "webconfig"}, "r": {"frame", "plot", "vector", "factor"},
}

// drawFacebook draws questions whose titles and bodies have words of their tags. All
// fields are quoted, bodies have several lines that end in \r\n or \n.
func drawFacebook(s *set) {
	tags := slices.Sorted(maps.Keys(topicsFacebook))
	var train, test, sample strings.Builder
	train.WriteString(`"Id","Title","Body","Tags"` + "\r\n")
	test.WriteString(`"Id","Title","Body"` + "\r\n")
	sample.WriteString(`"Id","Tags"` + "\r\n")
	for i := range 420 {
		var chosen []string
		for _, k := range s.Perm(len(tags))[:1+s.weighted(4, 4, 1)] {
			chosen = append(chosen, tags[k])
		}
		say := func(n int) string {
			var words []string
			for range n {
				if s.IntN(2) == 0 {
					words = append(words, s.one(topicsFacebook[s.one(chosen...)]...))
				} else {
					words = append(words, s.one("how", "to", "the", "with", "error", "use", "value", "wrong", "why", "does", "in", "my"))
				}
			}
			return strings.Join(words, " ")
		}
		end := s.one("\n", "\r\n")
		title := strings.ToUpper(say(1)) + " " + say(5) + "?"
		body := "<p>I try to " + say(8) + ".</p>" + end + end + "<pre><code>" + s.one("x", "i", "foo") + " = \"\"" + say(2) + "\"\";" + end + "</code></pre>" + end + "<p>" + say(6) + "</p>" + end
		if i < 400 {
			fmt.Fprintf(&train, `"%d","%s","%s","%s"`+"\r\n", i+1, title, body, strings.Join(chosen, " "))
			continue
		}
		fmt.Fprintf(&test, `"%d","%s","%s"`+"\r\n", 6034196+i-400, title, body)
		fmt.Fprintf(&sample, `"%d","javascript c# python php java"`+"\r\n", 6034196+i-400)
	}
	trains, tests := s.part(), s.part()
	trains.file("Train.csv", []byte(train.String()))
	tests.file("Test.csv", []byte(test.String()))
	s.zip("Train.zip", trains)
	s.zip("Test.zip", tests)
	s.file("SampleSubmission.csv", []byte(sample.String()))
}

// learnFacebook gives a question the tags that usually come with its words.
func learnFacebook(l *lesson) {
	words := func(r *rows, i int) []string {
		all := strings.FieldsFunc(strings.ToLower(r.get(i, "Title")+" "+r.get(i, "Body")), func(c rune) bool { return c < 'a' || c > 'z' })
		slices.Sort(all)
		return slices.Compact(all)
	}
	train, seen, with := l.rows("train.csv"), map[string]float64{}, map[string]map[string]float64{}
	for i := range train.len() {
		for _, w := range words(train, i) {
			seen[w]++
			if with[w] == nil {
				with[w] = map[string]float64{}
			}
			for _, tag := range strings.Fields(train.get(i, "Tags")) {
				with[w][tag]++
			}
		}
	}
	test := l.rows("test.csv")
	l.submitLike("sample_submission.csv", []string{"Tags"}, func(_ *rows, i int) []string {
		found := map[string]bool{}
		for _, w := range words(test, i) {
			for tag, n := range with[w] {
				if seen[w] >= 5 && n/seen[w] > 0.8 {
					found[tag] = true
				}
			}
		}
		return []string{strings.Join(slices.Sorted(maps.Keys(found)), " ")}
	})
}

// drawHerbarium22 draws sheets with a plant of a category's color, and their metadata.
func drawHerbarium22(s *set) {
	const genera = 6
	var annotations, images, categories, names, distances, tests []any
	syllables := func(end string) string {
		return s.one("Al", "Cor", "Ver", "Lin", "Sal") + s.one("bi", "no", "ta", "ru") + s.one("ca", "me", "li") + end
	}
	for i := range genera {
		names = append(names, recordB{"genus_id", i, "genus", syllables("a")})
		for j := range i {
			distances = append(distances, recordB{"genus_id_x", j, "genus_id_y", i, "distance", s.between(20, 400)})
		}
	}
	category, tints := 0, tintsB(14)
	for k, tint := range tints {
		genus := k * genera / len(tints)
		species := strings.ToLower(syllables("ë"))
		categories = append(categories, recordB{"category_id", category, "scientificName", "Genus " + species + " L.", "family", "Familia " + itoa(genus/2),
			"genus", names[genus].(recordB)[3], "species", species, "authors", "L."})
		for i := range 5 + s.IntN(6) {
			id := fmt.Sprintf("%05d__%03d", category, i+1)
			name := fmt.Sprintf("%03d/%02d/%s.jpg", category/100, category%100, id)
			annotations = append(annotations, recordB{"genus_id", genus, "institution_id", s.IntN(5), "category_id", category, "image_id", id})
			images = append(images, recordB{"image_id", id, "file_name", name, "license", s.IntN(3)})
			s.file("train_images/"+name, jpegOf(s.picture(24, 36, s.nearB(tint), 4)))
		}
		category += 1 + s.IntN(1900)
	}
	for i := range 4 {
		name := fmt.Sprintf("000/test-%06d.jpg", i)
		tests = append(tests, recordB{"image_id", itoa(i), "file_name", name, "license", 0})
		s.file("test_images/"+name, jpegOf(s.picture(24, 36, tints[i], 4)))
	}
	var licenses, institutions []any
	for i := range 3 {
		licenses = append(licenses, recordB{"id", i, "name", "License " + itoa(i), "url", "https://example.org/licenses/" + itoa(i)})
	}
	for i := range 5 {
		institutions = append(institutions, recordB{"institution_id", i, "collectionCode", strings.ToUpper(s.one("ab", "cd", "ny", "us")) + itoa(i)})
	}
	s.json("train_metadata.json", recordB{"annotations", annotations, "images", images, "categories", categories, "genera", names,
		"distances", distances, "licenses", licenses, "institutions", institutions})
	s.json("test_metadata.json", tests)
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"0", "42"}, {"1", "42"}, {"2", "42"}, {"3", "42"}})
}

// indexB is the part of a COCO file that a model needs.
type indexB struct {
	Annotations []struct {
		CategoryID int `json:"category_id"`
	}
	Images []struct {
		ID       any    `json:"id"`
		ImageID  string `json:"image_id"`
		FileName string `json:"file_name"`
	}
}

// learnHerbarium22 classifies by mean color.
func learnHerbarium22(l *lesson) {
	var train, test indexB
	must(json.Unmarshal(l.file("train_metadata.json"), &train))
	must(json.Unmarshal(l.file("test_metadata.json"), &test.Images))
	var x [][]float64
	var y []string
	for i, image := range train.Images {
		x = append(x, colors(l.file("train_images/"+image.FileName)))
		y = append(y, itoa(train.Annotations[i].CategoryID))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, image := range test.Images {
		found[image.ImageID] = model.class(colors(l.file("test_images/" + image.FileName)))
	}
	l.submitLike("sample_submission.csv", []string{"Predicted"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "Id")]}
	})
}

// drawINat19 draws photographs of a category's color, packed in one archive, with those
// of the validation set.
func drawINat19(s *set) {
	groups := []string{"Amphibians", "Birds", "Fungi", "Insects", "Plants", "Reptiles"}
	tints, photos, next := tintsB(14), s.part(), 0
	var categories, licenses []any
	for k := range tints {
		categories = append(categories, recordB{"id", k * 70, "name", itoa(k * 70)})
	}
	for i := range 7 {
		licenses = append(licenses, recordB{"id", i + 1, "name", "License " + itoa(i+1), "url", "http://example.org/licenses/" + itoa(i+1)})
	}
	info := recordB{"description", "iNaturalist 2019 rehearsal", "contributor", "mleflow", "url", "", "version", "1.0", "year", 2019, "date_created", "2019-03-01 00:00:00"}
	index := func(count func() int) recordB {
		var images, annotations []any
		for k, tint := range tints {
			for range count() {
				name := fmt.Sprintf("train_val2019/%s/%d/%s.jpg", groups[k%len(groups)], k*70, s.hex(32))
				images = append(images, recordB{"id", next, "file_name", name, "license", 1 + s.IntN(7), "rights_holder", s.one("Zoë", "Jo", "Kim", "An") + " " + s.one("B.", "Field", "Wood"), "width", 36, "height", 27})
				annotations = append(annotations, recordB{"id", next, "image_id", next, "category_id", k * 70})
				photos.file(name, jpegOf(s.picture(36, 27, s.nearB(tint), 4)))
				next++
			}
		}
		return recordB{"info", info, "images", images, "licenses", licenses, "annotations", annotations, "categories", categories}
	}
	s.json("train2019.json", index(func() int { return 3 + s.weighted(1, 1, 1, 0, 2, 2, 2, 1, 1) }))
	s.json("val2019.json", index(func() int { return 1 }))
	s.tarGz("train_val2019.tar.gz", photos)
	tests, images, sample := s.part(), []any{}, [][]string{}
	for k := range 4 {
		name := "test2019/" + s.hex(32) + ".jpg"
		images = append(images, recordB{"id", next + k, "file_name", name, "license", 1, "rights_holder", "An Field", "width", 36, "height", 27})
		tests.file(name, jpegOf(s.picture(36, 27, tints[k], 4)))
		sample = append(sample, []string{itoa(next + k), itoa(s.IntN(1010))})
	}
	s.json("test2019.json", recordB{"info", info, "images", images, "licenses", licenses})
	s.tarGz("test2019.tar.gz", tests)
	s.csv("kaggle_sample_submission.csv", []string{"id", "predicted"}, sample)
}

// learnINat19 classifies by mean color. The public archives are not compressed.
func learnINat19(l *lesson) {
	var train, test indexB
	must(json.Unmarshal(l.file("train2019.json"), &train))
	must(json.Unmarshal(l.file("test2019.json"), &test))
	trains, tests := unpacked("train.tar", l.file("train_val2019.tar.gz")), unpacked("test.tar", l.file("test2019.tar.gz"))
	var x [][]float64
	var y []string
	for i, image := range train.Images {
		x = append(x, colors(trains[strings.TrimPrefix(image.FileName, "train_val2019/")]))
		y = append(y, itoa(train.Annotations[i].CategoryID))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, image := range test.Images {
		found[fmt.Sprint(image.ID)] = model.class(colors(tests[path.Base(image.FileName)]))
	}
	l.submitLike("kaggle_sample_submission.csv", []string{"predicted"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "id")]}
	})
}
