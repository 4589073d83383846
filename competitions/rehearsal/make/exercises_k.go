package main

import (
	"cmp"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/shipped"
)

var exercisesK = []exercise{
	{id: "imet-2020-fgvc7", draw: drawImet, learn: learnImet},
	{id: "spaceship-titanic", draw: drawSpaceship, learn: learnSpaceship},
	{id: "freesound-audio-tagging-2019", draw: drawFreesound, learn: learnFreesound},
	{id: "text-normalization-challenge-russian-language", draw: drawNormRussian, learn: learnNormRussian},
	{id: "hotel-id-2021-fgvc8", draw: drawHotel, learn: learnHotel},
	{id: "siim-covid19-detection", draw: drawSiim, learn: learnSiim},
	{id: "detecting-insults-in-social-commentary", draw: drawInsults, learn: learnInsults},
	{id: "paddy-disease-classification", draw: drawPaddy, learn: learnPaddy},
}

// attributesImet are the names of attributes: a kind and a value.
var attributesImet = strings.Fields(`country::egypt country::france country::iran country::japan country::peru
culture::american culture::british culture::chinese culture::german culture::roman
dimension::ceramics dimension::metalwork dimension::textiles
medium::bronze medium::canvas medium::glass medium::paper medium::silver medium::wood
tags::birds tags::boats tags::flowers tags::horses tags::landscapes tags::men tags::trees tags::women`)

// drawImet draws pictures of works: red decides the country, green the medium, blue the
// first tag; all others are chance.
func drawImet(s *set) {
	var labels, train [][]string
	of := map[string][]int{}
	for i, name := range attributesImet {
		labels = append(labels, []string{itoa(i), name})
		kind, _, _ := strings.Cut(name, "::")
		of[kind] = append(of[kind], i)
	}
	for range 170 {
		seen := map[int]bool{}
		var c [3]float64
		for k, kind := range []string{"country", "medium", "tags"} {
			i := min(s.IntN(len(of[kind])), s.IntN(len(of[kind])))
			seen[of[kind][i]] = true
			c[k] = 20 + 210*float64(i)/float64(len(of[kind])-1) + s.normal(0, 6)
		}
		for _, kind := range []string{"culture", "dimension", "tags"} {
			if s.IntN(4) == 0 {
				seen[of[kind][s.IntN(len(of[kind]))]] = true
			}
		}
		var ids []string
		for i := range attributesImet {
			if seen[i] {
				ids = append(ids, itoa(i))
			}
		}
		id := s.hex(16)
		train = append(train, []string{id, strings.Join(ids, " ")})
		s.file("train/"+id+".png", pngOf(s.picture(16+s.IntN(4), 16, color.RGBA{clip(c[0]), clip(c[1]), clip(c[2]), 255}, 1)))
	}
	s.csv("train.csv", []string{"id", "attribute_ids"}, train)
	s.csv("labels.csv", []string{"attribute_id", "attribute_name"}, labels)
	s.csv("sample_submission.csv", []string{"id", "attribute_ids"}, [][]string{{s.hex(16), "0 1 2"}, {s.hex(16), "0 1 2"}})
}

// learnImet takes the attributes that most of the five pictures with the nearest colors
// have.
func learnImet(l *lesson) {
	train := l.rows("train.csv")
	var x [][]float64
	for i := range train.len() {
		x = append(x, colors(l.file("train/"+train.get(i, "id")+".png")))
	}
	l.submitLike("sample_submission.csv", []string{"attribute_ids"}, func(r *rows, i int) []string {
		at := colors(l.file("test/" + r.get(i, "id") + ".png"))
		order := make([]int, len(x))
		for k := range order {
			order[k] = k
		}
		far := func(k int) float64 {
			return math.Hypot(math.Hypot(x[k][0]-at[0], x[k][1]-at[1]), x[k][2]-at[2])
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far(a), far(b)) })
		votes, found := map[string]int{}, []string{}
		for _, k := range order[:5] {
			for _, id := range strings.Fields(train.get(k, "attribute_ids")) {
				if votes[id]++; votes[id] == 3 {
					found = append(found, id)
				}
			}
		}
		return []string{strings.Join(found, " ")}
	})
}

var spentSpaceship = []string{"RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"}

// drawSpaceship draws passengers in groups: those asleep and those who spend little on
// room service, spa and games are transported more often.
func drawSpaceship(s *set) {
	header := slices.Concat(strings.Split("PassengerId,HomePlanet,CryoSleep,Cabin,Destination,Age,VIP", ","), spentSpaceship, []string{"Name", "Transported"})
	var all [][]string
	truth := map[bool]string{false: "False", true: "True"}
	for group := 1; len(all) < 520; group++ {
		planet, side := s.weighted(54, 25, 21), s.one("P", "S")
		cabin := s.one("A", "B", "C", "D", "E", "F", "F", "G", "G") + "/" + itoa(group/4) + "/" + side
		family := s.one("Ara", "Bel", "Cor", "Dun", "Fen", "Hol") + s.one("dersen", "lington", "ovan", "wick", "ters")
		for k := range 1 + s.weighted(5, 2, 1) {
			asleep := s.Float64() < 0.35
			row := []string{
				fmt.Sprintf("%04d_%02d", group, k+1), []string{"Earth", "Europa", "Mars"}[planet], truth[asleep], cabin,
				[]string{"TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"}[s.weighted(69, 21, 10)], ftoa(math.Abs(math.Round(s.normal(29, 14))), 1), truth[s.IntN(40) == 0],
			}
			score := s.normal(-0.2, 0.6)
			for j := range spentSpaceship {
				spent := 0.0
				if !asleep && s.IntN(3) > 0 {
					spent = math.Floor(math.Exp(s.between(0, 8)))
				}
				score += []float64{-0.3, 0.15, 0.1, -0.3, -0.3}[j] * math.Log1p(spent) / 2
				row = append(row, ftoa(spent, 1))
			}
			if asleep {
				score++
			}
			row = append(row, s.one("Ada", "Bryn", "Col", "Dara", "Eno", "Finn", "Gia")+s.one("", "n", "s", "th")+" "+family, truth[score > -0.35])
			for j := 1; j < len(row)-1; j++ {
				if s.IntN(45) == 0 {
					row[j] = ""
				}
			}
			all = append(all, row)
		}
	}
	var test, sample [][]string
	for range 20 {
		row := all[len(all)-1]
		all = all[:len(all)-1]
		test = append(test, row[:len(row)-1])
		sample = append(sample, []string{row[0], "False"})
	}
	s.csv("train.csv", header, all)
	s.csv("test.csv", header[:len(header)-1], test)
	s.csv("sample_submission.csv", []string{"PassengerId", "Transported"}, sample)
}

// learnSpaceship classifies by sleep and the logarithms of what was spent.
func learnSpaceship(l *lesson) {
	features := func(r *rows, i int) []float64 {
		x := []float64{0}
		if r.get(i, "CryoSleep") == "True" {
			x[0] = 1
		}
		for _, name := range spentSpaceship {
			x = append(x, math.Log1p(r.number(i, name)))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.classifier("Transported", features)
	l.submitLike("sample_submission.csv", []string{"Transported"}, func(_ *rows, i int) []string {
		return []string{model.class(features(test, i))}
	})
}

// classesFreesound returns the definition's kinds of sound.
func classesFreesound() []string {
	data, err := fs.ReadFile(shipped.FS, "freesound-audio-tagging-2019/classes.txt")
	must(err)
	return strings.Fields(string(data))
}

// clipFreesound draws a clip of two halves: period and loudness of a half depend on the
// kind of sound.
func clipFreesound(s *set, kinds [2]int) []byte {
	var samples []int16
	for _, kind := range kinds {
		period := []int{4, 5, 6, 8, 10, 13, 17, 22, 29, 40}[kind%10]
		loud, phase := 400*math.Pow(1.7, float64(kind/10))*s.between(0.94, 1.06), s.IntN(period)
		for i := range 160 {
			samples = append(samples, int16(loud*math.Sin(2*math.Pi*(float64((i+phase)%period)+0.5)/float64(period))))
		}
	}
	return wavOf(44100, samples)
}

// drawFreesound draws clips: each kind of sound has a pitch and a loudness, and a clip
// has one or two kinds. About one in five of the unchecked labels is wrong.
func drawFreesound(s *set) {
	classes := classesFreesound()
	clips := func(folder string, n, wrong int) (rows [][]string) {
		order := s.Perm(len(classes))
		for i := range n {
			kind := order[i%len(order)]
			kinds, named := [2]int{kind, kind}, classes[kind]
			switch {
			case s.IntN(7) == 0:
				kinds[1] = (kind + 1 + s.IntN(len(classes)-1)) % len(classes)
				named += "," + classes[kinds[1]]
			case s.IntN(100) < wrong:
				named = s.one(classes...)
			}
			name := s.hex(8) + ".wav"
			if folder != "" {
				s.file(folder+"/"+name, clipFreesound(s, kinds))
			}
			rows = append(rows, []string{name, named})
		}
		return rows
	}
	s.csv("train_curated.csv", []string{"fname", "labels"}, clips("train_curated", 160, 0))
	s.csv("train_noisy.csv", []string{"fname", "labels"}, clips("train_noisy", 100, 25))
	var sample, published [][]string
	for _, row := range clips("test", 80, 0) {
		published = append(published, append(row, "Private"))
		cells := []string{row[0]}
		for range classes {
			cells = append(cells, "0")
		}
		sample = append(sample, cells)
	}
	for _, row := range clips("", 20, 0) {
		published = append(published, append(row, "Public"))
	}
	s.Shuffle(len(published), func(i, j int) { published[i], published[j] = published[j], published[i] })
	for i := range published {
		published[i] = append(published[i], itoa(1000+s.IntN(470000)), "http://creativecommons.org/licenses/by/3.0/")
	}
	s.csv("sample_submission.csv", append([]string{"fname"}, classes...), sample)
	meta := s.part()
	meta.csv("FSDKaggle2019.meta/test_post_competition.csv", []string{"fname", "labels", "usage", "freesound_id", "license"}, published)
	var vocabulary strings.Builder
	for i, class := range classes {
		fmt.Fprintf(&vocabulary, "%d,%s,/m/0%s\n", i, class, strconv.FormatInt(s.Int64N(1<<24), 36))
	}
	meta.file("FSDKaggle2019.meta/vocabulary.csv", []byte(vocabulary.String()))
	s.zip("FSDKaggle2019.meta.zip", meta)
}

// halvesFreesound returns for each half of a clip the logarithms of its number of
// changes of the sign and of its mean loudness.
func halvesFreesound(data []byte) (x [2][]float64) {
	samples := wavSamples(data)
	n := len(samples) / 2
	for half := range x {
		changes, loud := 1.0, 1.0
		for i := half*n + 1; i < (half+1)*n; i++ {
			if (samples[i] < 0) != (samples[i-1] < 0) {
				changes++
			}
			loud += math.Abs(float64(samples[i])) / float64(n)
		}
		x[half] = []float64{math.Log(changes), math.Log(loud)}
	}
	return x
}

// learnFreesound classifies both halves of a clip, as learnt from the checked clips of one kind.
func learnFreesound(l *lesson) {
	var x [][]float64
	var y []string
	train := l.rows("train_curated.csv")
	for i := range train.len() {
		if labels := train.get(i, "labels"); !strings.Contains(labels, ",") {
			for _, half := range halvesFreesound(l.file("train_curated/" + train.get(i, "fname"))) {
				x, y = append(x, half), append(y, labels)
			}
		}
	}
	model, classes := fitCentroids(x, y), l.rows("sample_submission.csv").header[1:]
	l.submitLike("sample_submission.csv", classes, func(r *rows, i int) (cells []string) {
		halves := halvesFreesound(l.file("test/" + r.get(i, "fname")))
		for _, class := range classes {
			cells = append(cells, ftoa(max(model.probability(halves[0], class), model.probability(halves[1], class)), 6))
		}
		return cells
	})
}
