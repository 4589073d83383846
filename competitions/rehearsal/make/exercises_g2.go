package main

import (
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// sensorsIcecube draws 24 strings of 10 sensors.
func sensorsIcecube(s *set) (places [][3]float64, cells [][]string) {
	for n := range 24 {
		x, y := -500+200*float64(n%6)+s.normal(0, 10), -400+260*float64(n/6)+s.normal(0, 10)
		for k := range 10 {
			at := [3]float64{x, y, 500 - 110*float64(k)}
			cells = append(cells, []string{itoa(len(places)), ftoa(at[0], 2), ftoa(at[1], 2), ftoa(at[2], 2)})
			places = append(places, at)
		}
	}
	return places, cells
}

// metaIcecube are the columns of events.
type metaIcecube struct {
	batch, event, first, last []int64
	azimuth, zenith           []float64
}

func (m *metaIcecube) parquet(directions bool) []byte {
	columns := []*table.Column{
		table.FromInts("batch_id", m.batch), table.FromInts("event_id", m.event),
		table.FromInts("first_pulse_index", m.first), table.FromInts("last_pulse_index", m.last),
	}
	if directions {
		columns = append(columns, table.FromFloats("azimuth", m.azimuth), table.FromFloats("zenith", m.zenith))
	}
	return parquetOf(columns...)
}

// draw adds a batch's events and returns its pulses: sensors see a particle when it passes them.
func (m *metaIcecube) draw(s *set, batch, events int, places [][3]float64) []byte {
	var sensor, when, event []int64
	var charge []float64
	var auxiliary []bool
	id := int64(24 + 100000*batch)
	for range events {
		id += 1 + int64(s.IntN(60))
		azimuth, zenith := s.between(0, 2*math.Pi), math.Acos(s.between(-1, 1))
		from := [3]float64{math.Sin(zenith) * math.Cos(azimuth), math.Sin(zenith) * math.Sin(azimuth), math.Cos(zenith)}
		first, hits := len(when), 10+s.IntN(6)
		pulses := make([][2]int64, 0, hits)
		for range hits {
			at := s.IntN(len(places))
			along := 0.0
			for j := range from {
				along -= from[j] * places[at][j]
			}
			pulses = append(pulses, [2]int64{int64(12000 + along/0.299 + s.normal(0, 150)), int64(at)})
		}
		slices.SortFunc(pulses, func(a, b [2]int64) int { return int(a[0] - b[0]) })
		for _, p := range pulses {
			when, sensor, event = append(when, p[0]), append(sensor, p[1]), append(event, id)
			charge = append(charge, float64(5+s.IntN(80))/40)
			auxiliary = append(auxiliary, s.IntN(4) == 0)
		}
		m.batch, m.event = append(m.batch, int64(batch)), append(m.event, id)
		m.first, m.last = append(m.first, int64(first)), append(m.last, int64(len(when)-1))
		m.azimuth, m.zenith = append(m.azimuth, azimuth), append(m.zenith, zenith)
	}
	return parquetOf(table.FromInts("sensor_id", sensor), table.FromInts("time", when), table.FromFloats("charge", charge), table.FromBools("auxiliary", auxiliary, nil), table.FromInts("event_id", event))
}

// drawIcecube draws events: the order in which sensors see pulses depends on the
// direction.
func drawIcecube(s *set) {
	places, cells := sensorsIcecube(s)
	s.csv("sensor_geometry.csv", []string{"sensor_id", "x", "y", "z"}, cells)
	var train, test metaIcecube
	for batch := 1; batch <= 10; batch++ {
		s.file("train/batch_"+itoa(batch)+".parquet", train.draw(s, batch, 24, places))
	}
	s.file("test/batch_661.parquet", test.draw(s, 661, 3, places))
	s.file("train_meta.parquet", train.parquet(true))
	s.file("test_meta.parquet", test.parquet(false))
	var sample [][]string
	for _, id := range test.event {
		sample = append(sample, []string{itoa(int(id)), "1", "1"})
	}
	s.csv("sample_submission.csv", []string{"event_id", "azimuth", "zenith"}, sample)
}

// featuresIcecube returns for each event the slopes of time over x, y and z.
func featuresIcecube(l *lesson, folder string, meta map[string][]float64) [][]float64 {
	geometry := l.rows("sensor_geometry.csv")
	batches := map[int]map[string][]float64{}
	x := make([][]float64, len(meta["batch_id"]))
	for i := range x {
		n := int(meta["batch_id"][i])
		if batches[n] == nil {
			batches[n] = parquetColumns(l.file(folder+"/batch_"+itoa(n)+".parquet"), "sensor_id", "time")
		}
		var places [][]float64
		var times []float64
		for k := int(meta["first_pulse_index"][i]); k <= int(meta["last_pulse_index"][i]); k++ {
			sensor := int(batches[n]["sensor_id"][k])
			places = append(places, []float64{geometry.number(sensor, "x") / 500, geometry.number(sensor, "y") / 500, geometry.number(sensor, "z") / 500})
			times = append(times, batches[n]["time"][k]/1000)
		}
		x[i] = fitLinear(places, times)[:3]
	}
	return x
}

// learnIcecube regresses the direction on the slopes of time.
func learnIcecube(l *lesson) {
	names := []string{"batch_id", "event_id", "first_pulse_index", "last_pulse_index"}
	meta := parquetColumns(l.file("train_meta.parquet"), append(slices.Clone(names), "azimuth", "zenith")...)
	x := featuresIcecube(l, "train", meta)
	y := make([][]float64, 3)
	for i := range x {
		sin, cos := math.Sincos(meta["zenith"][i])
		y[0] = append(y[0], sin*math.Cos(meta["azimuth"][i]))
		y[1] = append(y[1], sin*math.Sin(meta["azimuth"][i]))
		y[2] = append(y[2], cos)
	}
	models := []linear{fitLinear(x, y[0]), fitLinear(x, y[1]), fitLinear(x, y[2])}
	test := parquetColumns(l.file("test_meta.parquet"), names...)
	features := featuresIcecube(l, "test", test)
	var out [][]string
	for i, row := range features {
		d := [3]float64{}
		for j := range d {
			d[j] = models[j].predict(row)
		}
		azimuth := math.Mod(math.Atan2(d[1], d[0])+2*math.Pi, 2*math.Pi)
		zenith := math.Atan2(math.Hypot(d[0], d[1]), d[2])
		out = append(out, []string{itoa(int(test["event_id"][i])), ftoa(azimuth, 8), ftoa(zenith, 8)})
	}
	l.submit([]string{"event_id", "azimuth", "zenith"}, out)
}

var (
	identitiesUnintendedBias = strings.Fields(`asian atheist bisexual black buddhist christian female heterosexual hindu
homosexual_gay_or_lesbian intellectual_or_learning_disability jewish latino male muslim other_disability other_gender
other_race_or_ethnicity other_religion other_sexual_orientation physical_disability psychiatric_or_mental_illness
transgender white`)
	gradedUnintendedBias = strings.Fields("male female homosexual_gay_or_lesbian christian jewish muslim black white psychiatric_or_mental_illness")
)

// commentUnintendedBias draws the cells of a comment by name: most toxic comments have a
// rude word, and few others do.
func commentUnintendedBias(s *set) map[string]string {
	toxic := s.weighted(2, 1) == 1
	words := []string{}
	for range 6 + s.IntN(10) {
		words = append(words, s.one("the", "city", "council", "people", "vote", "money", "law", "school", "time", "state", "news", "church", "you", "they", "will", "not", "and", "is", "of", "paper"))
	}
	rude := s.one("idiots", "stupid", "pathetic", "fools", "garbage", "ignorant")
	if toxic != (s.IntN(12) == 0) {
		words[s.IntN(len(words))] = rude
	}
	row := map[string]string{"created_date": "2017-0" + itoa(1+s.IntN(9)) + "-1" + itoa(s.IntN(10)) + " 0" + itoa(s.IntN(10)) + ":14:41.12" + itoa(1000+s.IntN(9000)) + "+00", "publication_id": itoa(2 + s.IntN(100)), "parent_id": "", "article_id": itoa(320000 + s.IntN(60000)), "rating": s.one("approved", "approved", "approved", "rejected")}
	if s.IntN(2) == 0 {
		row["parent_id"] = itoa(5000000+s.IntN(1000000)) + ".0"
	}
	for _, name := range strings.Fields("severe_toxicity obscene identity_attack insult threat sexual_explicit") {
		row[name] = "0.0"
	}
	row["toxicity"] = s.one("0.0", "0.0", "0.16666666666666666", "0.3")
	if toxic {
		row["toxicity"] = s.one("0.5", "0.6", "0.8333333333333334", "0.9")
		row["insult"] = row["toxicity"]
	}
	for _, name := range strings.Fields("funny wow sad likes disagree") {
		row[name] = itoa(s.weighted(6, 2, 1))
	}
	row["identity_annotator_count"], row["toxicity_annotator_count"] = "0", s.one("4", "10")
	if s.IntN(5) > 0 {
		row["identity_annotator_count"] = "4"
		for _, name := range identitiesUnintendedBias {
			row[name] = "0.0"
			graded := slices.Contains(gradedUnintendedBias, name)
			if graded && s.IntN(6) == 0 || s.IntN(40) == 0 {
				row[name] = s.one("0.25", "0.5", "1.0", "1.0")
				words = append(words, strings.ReplaceAll(name, "_", " "))
			}
		}
	}
	row["comment_text"] = strings.Join(words, " ") + s.one(".", "!", "", "?\n\nNo, \"thanks\".")
	return row
}

// drawUnintendedBias draws comments: toxicity depends on rude words.
func drawUnintendedBias(s *set) {
	scores := strings.Fields("severe_toxicity obscene identity_attack insult threat")
	about := strings.Fields("created_date publication_id parent_id article_id rating funny wow sad likes disagree")
	counts := []string{"identity_annotator_count", "toxicity_annotator_count"}
	train := slices.Concat([]string{"id", "target", "comment_text"}, scores, identitiesUnintendedBias, about, []string{"sexual_explicit"}, counts)
	private := slices.Concat([]string{"id", "comment_text"}, about, strings.Fields("toxicity severe_toxicity obscene sexual_explicit identity_attack insult threat"), identitiesUnintendedBias, counts)
	draw := func(n, first int, header []string) [][]string {
		var out [][]string
		for i := range n {
			comment := commentUnintendedBias(s)
			comment["id"], comment["target"] = itoa(first+i*7+s.IntN(7)), comment["toxicity"]
			row := make([]string, len(header))
			for j, name := range header {
				row[j] = comment[name]
			}
			out = append(out, row)
		}
		return out
	}
	s.csv("train.csv", train, draw(400, 59848, train))
	expanded := draw(250, 7000000, private)
	s.csv("test_private_expanded.csv", private, expanded)
	var test, sample [][]string
	for _, row := range expanded {
		test = append(test, row[:2])
		sample = append(sample, []string{row[0], "0.0"})
	}
	s.csv("test.csv", private[:2], test)
	s.csv("sample_submission.csv", []string{"id", "prediction"}, sample)
}

// learnUnintendedBias counts words in toxic and other comments.
func learnUnintendedBias(l *lesson) {
	train := l.rows("train.csv")
	var texts, labels []string
	for i := range train.len() {
		texts = append(texts, train.get(i, "comment_text"))
		labels = append(labels, itoa(int(train.number(i, "target")+0.5)))
	}
	model, test := fitWordsMovieReview(texts, labels), l.rows("test.csv")
	l.submitLike("sample_submission.csv", []string{"prediction"}, func(r *rows, i int) []string {
		return []string{model.class(test.get(i, "comment_text"))}
	})
}
