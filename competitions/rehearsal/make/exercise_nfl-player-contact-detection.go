package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// playNFL collects the tables of plays.
type playNFL struct {
	labels, helmets, tracking, videos [][]string
}

const stampNFL = "2006-01-02T15:04:05.000Z"

// drawNFL draws plays of five players: two touch if they are within 1.2 yards, mostly, and
// one touches the ground if it is slow.
func drawNFL(s *set) {
	var train, test playNFL
	for range 26 {
		train.draw(s, "train/")
	}
	for range 2 {
		test.draw(s, "test/")
	}
	for name, p := range map[string]*playNFL{"train": &train, "test": &test} {
		s.csv(name+"_baseline_helmets.csv", strings.Split("game_play,game_key,play_id,view,video,frame,nfl_player_id,player_label,left,width,top,height", ","), p.helmets)
		s.csv(name+"_player_tracking.csv", strings.Split("game_play,game_key,play_id,nfl_player_id,datetime,step,team,position,jersey_number,x_position,y_position,speed,distance,direction,orientation,acceleration,sa", ","), p.tracking)
		s.csv(name+"_video_metadata.csv", strings.Split("game_play,game_key,play_id,view,start_time,end_time,snap_time", ","), p.videos)
	}
	s.csv("train_labels.csv", strings.Split("contact_id,game_play,datetime,step,nfl_player_id_1,nfl_player_id_2,contact", ","), train.labels)
	var sample [][]string
	for _, row := range test.labels {
		sample = append(sample, []string{row[0], "0"})
	}
	s.csv("sample_submission.csv", []string{"contact_id", "contact"}, sample)
}

// draw adds a play, with three videos that show the players' teams as blocks.
func (p *playNFL) draw(s *set, folder string) {
	key, number := 58000+s.IntN(900), 50+s.IntN(4500)
	play := fmt.Sprintf("%d_%06d", key, number)
	head := []string{play, itoa(key), itoa(number)}
	snap := time.Date(2020, 9, 11, 3, 0, 0, 0, time.UTC).AddDate(0, 0, 7*s.IntN(12)).Add(time.Duration(s.IntN(7_200)) * time.Second)
	start := snap.Add(-5 * time.Second)
	ids := make([]int, 5)
	for k := range ids {
		ids[k] = 38500 + 1000*k + s.IntN(1000)
	}
	x, y := make([]float64, 5), make([]float64, 5)
	for k := range ids {
		x[k], y[k] = 50+2*s.Float64(), 20+5*s.Float64()
	}
	for step := range 4 {
		at := snap.Add(time.Duration(step) * 100 * time.Millisecond).Format(stampNFL)
		speed := make([]float64, 5)
		for k, id := range ids {
			speed[k] = s.between(0.5, 5)
			if s.IntN(6) == 0 {
				speed[k] = s.between(0, 0.4)
			}
			x[k], y[k] = x[k]+s.normal(0, 0.2), y[k]+s.normal(0, 0.2)
			row := append(slices.Clone(head), itoa(id), at, itoa(step), []string{"home", "away"}[k%2], []string{"T", "DE", "WR", "CB", "QB"}[k], itoa(10+9*k))
			for _, v := range []float64{x[k], y[k], speed[k], speed[k] / 10, s.between(0, 360), s.between(0, 360), speed[k] * s.between(0.5, 1), s.normal(0, 1)} {
				row = append(row, ftoa(v, 2))
			}
			p.tracking = append(p.tracking, row)
		}
		label := func(first, second string, touch bool) {
			contact := map[bool]string{true: "1", false: "0"}[touch != (s.IntN(40) == 0)]
			p.labels = append(p.labels, []string{strings.Join([]string{play, itoa(step), first, second}, "_"), play, at, itoa(step), first, second, contact})
		}
		for i, id := range ids {
			for k := i + 1; k < len(ids); k++ {
				label(itoa(id), itoa(ids[k]), math.Hypot(x[i]-x[k], y[i]-y[k]) < 1.2)
			}
			label(itoa(id), "G", speed[i] < 0.4)
		}
	}
	for _, view := range []string{"All29", "Endzone", "Sideline"} {
		name := play + "_" + view + ".mp4"
		s.file(folder+name, mp4Of(2, 1, 60, [][]colorMP4{{{uint8(60 + s.IntN(90)), 110, 110}, {uint8(60 + s.IntN(90)), 120, 140}}})) //nolint:gosec // below 256
		if view == "All29" {
			continue
		}
		p.videos = append(p.videos, append(slices.Clone(head), view, start.Format(stampNFL), start.Add(12*time.Second).Format(stampNFL), snap.Format(stampNFL)))
		for k, id := range ids {
			p.helmets = append(p.helmets, append(slices.Clone(head), view, name, "300", itoa(id), []string{"H", "V"}[k%2]+itoa(10+9*k), itoa(4*int(x[k])+s.IntN(8)), "22", itoa(9*int(y[k])+s.IntN(8)), "25"))
		}
	}
}

// learnNFL takes as contact what is more often one than not in the training data, by
// rounded distance of two players, or by rounded speed of one.
func learnNFL(l *lesson) {
	places := map[string][3]float64{}
	for _, part := range []string{"train", "test"} {
		r := l.rows(part + "_player_tracking.csv")
		for i := range r.len() {
			key := r.get(i, "game_play") + "_" + r.get(i, "step") + "_" + r.get(i, "nfl_player_id")
			places[key] = [3]float64{r.number(i, "x_position"), r.number(i, "y_position"), r.number(i, "speed")}
		}
	}
	rate := func(id string) string {
		cut := strings.LastIndex(id, "_")
		first, second := id[:cut], id[cut+1:]
		a := places[first]
		if second == "G" {
			return "G" + ftoa(a[2], 1)
		}
		b := places[first[:strings.LastIndex(first, "_")+1]+second]
		return ftoa(math.Hypot(a[0]-b[0], a[1]-b[1])/2, 1)
	}
	train := l.rows("train_labels.csv")
	seen := map[string][]float64{}
	for i := range train.len() {
		key := rate(train.get(i, "contact_id"))
		seen[key] = append(seen[key], train.number(i, "contact"))
	}
	l.submitLike("sample_submission.csv", []string{"contact"}, func(r *rows, i int) []string {
		return []string{map[bool]string{true: "1", false: "0"}[mean(seen[rate(r.get(i, "contact_id"))]) > 0.5]}
	})
}
