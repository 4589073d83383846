package main

import (
	"math"
	"slices"

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
