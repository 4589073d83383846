package table

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var vectorFile = flag.String("vectors", "testdata/pandas_csv.jsonl", "answers of pandas to compare with")

// pandasCase is one line of the vector file: a file, the options it is read
// and written with, and what pandas made of it.
type pandasCase struct {
	In      []byte `json:"in"`
	Options struct {
		Sep      string          `json:"sep"`
		Header   json.RawMessage `json:"header"`
		Names    []string        `json:"names"`
		Fast     bool            `json:"fast"`
		Dtype    string          `json:"dtype"`
		NAFilter *bool           `json:"na_filter"`
		Quoting  int             `json:"quoting"`
		Heur     int             `json:"heur"`
		WQ       int             `json:"wq"`
		FF       string          `json:"ff"`
		WIndex   bool            `json:"windex"`
	} `json:"o"`
	pandasAnswer
}

type pandasAnswer struct {
	Err    string   `json:"err"`
	Names  []string `json:"names"`
	Dtypes []string `json:"dtypes"`
	Types  []string `json:"types"` // one letter a cell: its Python type, n if missing
	Lead   int      `json:"lead"`
	Index  string   `json:"index"`
	CSV    string   `json:"csv"`
}

func (c *pandasCase) read() ReadOptions {
	o := ReadOptions{Names: c.Options.Names, AllText: c.Options.Dtype == "str", NoQuotes: c.Options.Quoting == 3,
		NoHeader: string(c.Options.Header) == "null", chunkCells: c.Options.Heur,
		KeepNA: c.Options.NAFilter != nil && !*c.Options.NAFilter}
	if c.Options.Sep != "" {
		o.Comma = c.Options.Sep[0]
	}
	if c.Options.Fast {
		o.Floats = Fast
	}
	return o
}

// dtype returns the pandas dtype of a column of ours.
func dtype(c *Column) string {
	switch c.Kind() {
	case Bool:
		for _, v := range c.parts() {
			if v.valid != nil {
				return "object"
			}
		}
		return "bool"
	case Text, Mixed:
		return "object"
	}
	return c.Kind().String()
}

func typeLetters(c *Column) string {
	var b strings.Builder
	for i := range c.Len() {
		b.WriteByte("niifbs"[c.Value(i).Kind()])
	}
	return b.String()
}

func answer(t *testing.T, c *pandasCase) pandasAnswer {
	tb, err := ReadCSV(bytes.NewReader(c.In), c.read())
	if err != nil {
		return pandasAnswer{Err: err.Error()}
	}
	a := pandasAnswer{Names: tb.Names(), Lead: len(tb.Index()), Dtypes: []string{}, Types: []string{}}
	for _, col := range tb.Columns() {
		a.Dtypes = append(a.Dtypes, dtype(col))
		a.Types = append(a.Types, typeLetters(col))
	}
	var buf bytes.Buffer
	if a.Lead == 1 { // pandas merges equal values of several index columns
		it, err := New(tb.Index()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteCSV(&buf, it, WriteOptions{NoHeader: true}); err != nil {
			t.Fatal(err)
		}
		a.Index = buf.String()
		buf.Reset()
	}
	o := WriteOptions{FloatFormat: c.Options.FF, Quoting: Quoting(c.Options.WQ) / 2, Index: c.Options.WIndex}
	if err := WriteCSV(&buf, tb, o); err != nil {
		t.Fatal(err)
	}
	a.CSV = buf.String()
	return a
}

// TestPandas compares with pandas. The file says how it was made.
func TestPandas(t *testing.T) {
	data, err := os.ReadFile(*vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i, c := range pandasCases(t, data) {
		want, got := c.pandasAnswer, answer(t, &c)
		if (want.Err != "") == (got.Err != "") {
			if want.Err != "" || cmp.Equal(want, got, cmpopts.EquateEmpty()) {
				continue
			}
		} else if strings.HasPrefix(want.Err, "EmptyDataError") {
			continue
		}
		if bad++; bad > 10 {
			t.Fatal("and more")
		}
		t.Errorf("case %d: %q\noptions %+v\n-want +got\n%s", i, c.In, c.Options, cmp.Diff(want, got))
	}
}

func pandasCases(t *testing.T, data []byte) []pandasCase {
	var cases []pandasCase
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte{'\n'}) {
		var c pandasCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if !bytes.HasPrefix(line, []byte(`{"made_with"`)) {
			cases = append(cases, c)
		}
	}
	return cases
}
