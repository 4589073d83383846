package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/rehearsal"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// set holds the raw data of an exercise: file names with slashes, and contents. Its
// methods panic on a mistake of the exercise.
type set struct {
	*rand.Rand
	files map[string][]byte
}

// newSet draws an exercise's raw data.
func newSet(e exercise) *set {
	h := fnv.New64a()
	io.WriteString(h, e.id)
	s := &set{rand.New(rand.NewPCG(h.Sum64(), 1)), map[string][]byte{}} //nolint:gosec // data that everybody shall draw alike
	e.draw(s)
	return s
}

// part returns an empty set with the same source of chance, such as the content of a
// nested archive.
func (s *set) part() *set { return &set{s.Rand, map[string][]byte{}} }

// file adds a file.
func (s *set) file(name string, content []byte) {
	if _, ok := s.files[name]; ok {
		panic(name + " is drawn twice")
	}
	s.files[name] = content
}

// csv adds a table, quoted only where it must be, with lines that end in \n.
func (s *set) csv(name string, header []string, rows [][]string) {
	s.file(name, csvOf(header, rows))
}

func csvOf(header []string, rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	must(w.Write(header))
	must(w.WriteAll(rows))
	return b.Bytes()
}

// json adds a JSON file.
func (s *set) json(name string, v any) {
	data, err := json.Marshal(v)
	must(err)
	s.file(name, data)
}

// zip adds an archive of the files of a part.
func (s *set) zip(name string, inside *set) { s.file(name, inside.packed(archive.Zip)) }

// sevenZip adds a 7z archive of the files of a part.
func (s *set) sevenZip(name string, inside *set) { s.file(name, inside.packed(archive.SevenZip)) }

// tarGz adds a .tar.gz archive of the files of a part.
func (s *set) tarGz(name string, inside *set) { s.file(name, inside.packed(archive.TarGzip)) }

// packed returns an archive of the set.
func (s *set) packed(format archive.Format) []byte {
	data, err := rehearsal.Pack(s.files, format)
	must(err)
	return data
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// hex returns n hexadecimal digits.
func (s *set) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[s.IntN(16)]
	}
	return string(b)
}

// between returns a number in [lo, hi).
func (s *set) between(lo, hi float64) float64 { return lo + (hi-lo)*s.Float64() }

// normal returns a number of a normal distribution.
func (s *set) normal(mean, deviation float64) float64 { return mean + deviation*s.NormFloat64() }

// one returns one of the given strings.
func (s *set) one(of ...string) string { return of[s.IntN(len(of))] }

// weighted returns an index, each with the probability of its weight.
func (s *set) weighted(weights ...float64) int {
	all := 0.0
	for _, w := range weights {
		all += w
	}
	at := s.Float64() * all
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func itoa(v int) string { return strconv.Itoa(v) }

// ftoa writes a number with so many decimals.
func ftoa(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// tintsFor returns colors for so many classes, far from each other: the corners and
// middles of a cube.
func tintsFor(classes int) []color.RGBA {
	var all []color.RGBA
	for i := range classes {
		at := func(step int) uint8 { return uint8(60 + 65*(i*7/step%3)) } //nolint:gosec // at most 190
		all = append(all, color.RGBA{at(1), at(3), at(9), 255})
	}
	return all
}

// near varies a color a little.
func (s *set) near(c color.RGBA) color.RGBA {
	vary := func(v uint8) uint8 { return clip(float64(v) + s.normal(0, 9)) }
	return color.RGBA{vary(c.R), vary(c.G), vary(c.B), 255}
}

// ordered is a JSON object whose fields keep their order: names and values by turns.
type ordered []any

func (r ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(r); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(r[i+1])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", r[i], value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// runLengths returns the run lengths of a mask, counted from 1.
func runLengths(inside []bool) (runs []string) {
	run := 0
	for i, in := range append(slices.Clone(inside), false) {
		if in {
			run++
		} else if run > 0 {
			runs, run = append(runs, itoa(i-run+1), itoa(run)), 0
		}
	}
	return runs
}

// picture draws an RGB image of one color with noise: the mean of a channel is what a
// model can learn from.
func (s *set) picture(width, height int, c color.RGBA, noise float64) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := s.normal(0, noise)
			img.SetRGBA(x, y, color.RGBA{clip(float64(c.R) + n), clip(float64(c.G) + n), clip(float64(c.B) + n), 255})
		}
	}
	return img
}

// gray draws a gray image whose pixels a function gives.
func gray(width, height int, at func(x, y int) float64) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetGray(x, y, color.Gray{clip(at(x, y))})
		}
	}
	return img
}

func clip(v float64) uint8 { return uint8(min(255, max(0, math.Round(v)))) }

// normalization draws sentences of tokens for training and others for a test, in the files
// of a text normalization challenge: token returns the class of the token after another
// one, how it is written, and how it is spoken. A full stop ends a sentence. Text is
// quoted, numbers are not.
func (s *set) normalization(language string, sentences, tests, least int, token func(previous string) [3]string) {
	var train, test, sample strings.Builder
	train.WriteString(`"sentence_id","token_id","class","before","after"` + "\n")
	test.WriteString(`"sentence_id","token_id","before"` + "\n")
	sample.WriteString(`"id","after"` + "\n")
	for i := range sentences + tests {
		t, n := [3]string{}, least+s.IntN(12)
		for k := range n + 1 {
			if t = token(t[1]); k == n {
				t = [3]string{"PUNCT", ".", "."}
			}
			if i < sentences {
				fmt.Fprintf(&train, "%d,%d,\"%s\"\n", i, k, strings.Join(t[:], `","`))
				continue
			}
			fmt.Fprintf(&test, "%d,%d,\"%s\"\n", i-sentences, k, t[1])
			fmt.Fprintf(&sample, "\"%d_%d\",\"%s\"\n", i-sentences, k, t[1])
		}
	}
	for name, text := range map[string]string{
		"train": train.String(), "test": test.String(), "test_2": test.String(),
		"sample_submission": sample.String(), "sample_submission_2": sample.String(),
	} {
		p := s.part()
		p.file(language+"_"+name+".csv", []byte(text))
		s.zip(language+"_"+name+".csv.zip", p)
	}
}
