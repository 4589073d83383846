package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"

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
