package prep_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/prep"
)

// TestJSONLines writes rows of every kind as lines. What is expected was made
// with pandas 2.2.3: read_json(lines=True), or read_csv, and to_json(orient=
// "records", lines=True).
func TestJSONLines(t *testing.T) {
	raw := rawFiles(map[string]string{
		"a.jsonl": `{"n":1.0,"x":0.12345678901,"t":"a/b","list":[1,{"k":1.50}]}` + "\r\n" + ` {"x":null,"n":-0.0,"t":"é","more":true}` + "\n\n",
		"t.csv":   "i,f,t,b\n1,1e17,x,True\n2,,\"q\"\"/\",False\n3,0.5,,True\n",
	})
	for name, tt := range map[string]struct{ rows, want string }{
		"rows of a file": {`pandas_json_lines("a.jsonl")`,
			`{"n":1,"x":0.123456789,"t":"a\/b","list":[1,{"k":1.5}],"more":null}` + "\n" + `{"n":0,"x":null,"t":"\u00e9","list":null,"more":1.0}` + "\n"},
		"some of them": {`select(head(reverse(pandas_json_lines("a.jsonl")), 1), "more", "n")`, `{"more":1.0,"n":0}` + "\n"},
		"records": {`with_fields(select_fields(pandas_json_lines("a.jsonl"), ["list", "n"]), { n = sequence(pandas_json_lines("a.jsonl")) })`,
			`{"list":[1,{"k":1.5}],"n":0}` + "\n" + `{"list":null,"n":1}` + "\n"},
		"a table": {`csv("t.csv")`,
			`{"i":1,"f":1e+17,"t":"x","b":true}` + "\n" + `{"i":2,"f":null,"t":"q\"\/","b":false}` + "\n" + `{"i":3,"f":0.5,"t":null,"b":true}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out := prepare(t, define(t, "public {\n json_lines \"out.jsonl\" {\n rows = "+tt.rows+"\n }\n}"), prep.Options{Raw: raw})
			got, err := os.ReadFile(filepath.Join(out, "public", "out.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestJSONLinesMistakes names what is wrong with a file, and where.
func TestJSONLinesMistakes(t *testing.T) {
	good := strings.Repeat(`{"a":1}`+"\n", 5)
	for name, tt := range map[string]struct{ file, options, want string }{
		"no object":                {good + "[1]\n", `{}`, "line 6: parse JSON: byte 1: the line is no object"},
		"two values":               {good + `{"a":1},{"a":2}`, `{}`, "line 6: parse JSON: byte 8: more text after the value"},
		"not UTF-8":                {good + "{\"a\":\"\xff\"}", `{}`, "line 6: parse JSON: byte 7: not UTF-8"},
		"empty line in chunks":     {good + "\n" + good, `{ chunk = 2 }`, "line 6: empty line"},
		"two wrong lines":          {good + "x\ny\n", `{ chunk = 2 }`, "line 6: "},
		"a date":                   {`{"seen_at":1}`, `{}`, `pandas looks for dates in a member of the name "seen_at"`},
		"names are numbers":        {`{"1":1,"2.5":2}`, `{}`, "the names of all members are numbers (1, 2.5)"},
		"no such column":           {good, `{ types = { b = "text" } }`, `no column "b" (columns: a)`},
		"no such type":             {good, `{ types = { a = "int" } }`, `write "text"`},
		"a list as text":           {`{"a":[1]}`, `{ types = { a = "text" } }`, `column "a": array is not a single value`},
		"a surrogate cannot be":    {`{"a":"\udc00"}`, `{}`, "a lone surrogate in a text"},
		"a column of some chunks":  {good + `{"b":1}`, `{ chunk = 5, types = { a = "text" } }`, `no column "a" (columns: b)`},
		"chunks of negative sizes": {good, `{ chunk = -1 }`, "chunk = -1 is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			def := define(t, "public {\n json_lines \"out.jsonl\" {\n rows = pandas_json_lines(\"a.jsonl\", "+tt.options+")\n }\n}")
			out, err := prep.NewFolder(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Discard()
			err = prep.Run(t.Context(), def, prep.Options{Raw: fstest.MapFS{"a.jsonl": {Data: []byte(tt.file)}}, Out: out})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestErrataSmartphone prepares drives with the file that tells where the car
// was: v2 takes it out of the test drives only.
func TestErrataSmartphone(t *testing.T) {
	raw := fstest.MapFS{"metadata/map.csv": {Data: []byte("a\n")}}
	for _, drive := range []string{"2020-05-14-US-MTV-1", "2021-1-4-US-SJC-2", "2021-04-28-US-MTV-1"} {
		for _, file := range []string{"device_gnss.csv", "supplemental/span_log.nmea"} {
			raw["train/"+drive+"/pixel4/"+file] = &fstest.MapFile{Data: []byte(drive)}
		}
		raw["train/"+drive+"/pixel4/ground_truth.csv"] = &fstest.MapFile{Data: []byte("UnixTimeMillis,LatitudeDegrees,LongitudeDegrees\n1,2,3\n")}
	}
	v1 := shipped(t, "smartphone-decimeter-2022")
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	was, is := allSums(t, prepare(t, v1, prep.Options{Raw: raw})), allSums(t, prepare(t, v2, prep.Options{Raw: raw}))
	var gone []string
	for name, sum := range was {
		if is[name] != sum {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if len(gone) != 1 || !strings.HasPrefix(gone[0], "public/test/") || !strings.HasSuffix(gone[0], "/pixel4/supplemental/span_log.nmea") || len(is) != len(was)-1 {
		t.Errorf("v2 lacks %q and has %d of %d files", gone, len(is), len(was))
	}
}
