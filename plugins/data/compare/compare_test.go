package compare_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/plugins/data/compare"
)

// opener opens bytes in memory, which can be read at any offset.
func opener(data string) compare.Opener {
	return func(context.Context) (fs.File, error) {
		f, err := fstest.MapFS{"f": {Data: []byte(data)}}.Open("f")
		return randomFile{f, strings.NewReader(data)}, err
	}
}

type randomFile struct {
	fs.File
	io.ReaderAt
}

const small = "id,x,name\n1,1.5,a\n2,2,\"b,c\"\n3,,d\n"

// long is a table of many rows.
func long(rows int, change func(row int, cells string) string) string {
	var b strings.Builder
	b.WriteString("id,x,name\n")
	for i := range rows {
		line := fmt.Sprintf("%d,%d.25,n%d\n", i, i*7%1000, i%17)
		if change != nil {
			line = change(i+1, line)
		}
		b.WriteString(line)
	}
	return b.String()
}

func swapRows(text string, a, b int) string {
	lines := strings.SplitAfter(text, "\n")
	lines[a], lines[b] = lines[b], lines[a]
	return strings.Join(lines, "")
}

// otherSpelling is what is said when no more is known.
const otherSpelling = "quoting, layout, or the spelling of numbers or missing values"

// changes are the kinds of differences. The text of a case is what the
// explanation must hold; bySummary the same where only a summary of the
// expected file is known, as far as it differs.
func changes() []change {
	noise := strings.Repeat("0123456789abcdef", 20000)
	return []change{
		{name: "CRLF", want: small, got: strings.ReplaceAll(small, "\n", "\r\n"), ways: "line ends", text: "want LF, got CRLF"},
		{name: "mixed line ends", want: small, got: strings.Replace(small, "\n", "\r\n", 1), ways: "line ends", text: "got mixed"},
		{name: "no last line end", want: small, got: strings.TrimSuffix(small, "\n"), ways: "the line end of the last line", text: "the last line lacks a line end"},
		{name: "byte order mark", want: small, got: "\xef\xbb\xbf" + small, ways: "a byte order mark", text: "the file has a byte order mark"},
		{name: "empty lines", want: small, got: small + "\n\n", ways: otherSpelling},
		{name: "quotes", want: small, got: strings.Replace(small, "1.5,a", `"1.5","a"`, 1), ways: otherSpelling},
		{name: "2 as 2.0", want: small, got: strings.Replace(small, "2,2,", "2,2.0,", 1), ways: otherSpelling},
		{name: "2 as 2e0", want: small, got: strings.Replace(small, "2,2,", "2,2e0,", 1), ways: otherSpelling},
		{name: "1.5 as 15e-1", want: small, got: strings.Replace(small, "1.5", "15e-1", 1), ways: otherSpelling},
		{name: "0 as -0.0", want: "a\n0\n", got: "a\n-0.0\n", ways: otherSpelling},
		{name: "digits beyond a double", want: "a\n0.1\n", got: "a\n0.1000000000000000055511151231257827\n", ways: otherSpelling},
		{name: "nothing as NaN", want: small, got: strings.Replace(small, "3,,", "3,NaN,", 1), ways: otherSpelling},
		{name: "NaN as nan", want: "a,b\nNaN,1\n", got: "a,b\nnan,1\n", ways: otherSpelling},
		{name: "short row", want: "a,b\n1,\n", got: "a,b\n1\n", ways: otherSpelling},
		{name: "rows in another order", want: small, got: swapRows(small, 1, 3), ways: "order of rows", text: "order of rows"},
		{name: "columns in another order", want: "id,x\n1,2\n3,4\n", got: "x,id\n2,1\n4,3\n", ways: "order of columns"},
		{name: "columns and rows in another order", want: "id,x\n1,2\n3,4\n", got: "x,id\n4,3\n2,1\n", ways: "order of columns and order of rows"},
		{name: "identifier without its zeros", want: "a\n007\n", got: "a\n7\n", text: `row 1, column "a": want "007", got "7"`, bySummary: `1 of 1 column differ: "a"`},
		{name: "long identifier", want: "a\n12345678901234567\n", got: "a\n12345678901234568\n", text: `want "12345678901234567", got "12345678901234568"`, bySummary: `1 of 1 column differ: "a"`},
		{name: "case of a boolean", want: "a\nTrue\n", got: "a\ntrue\n", text: `want "True", got "true"`, bySummary: `1 of 1 column differ: "a"`},
		{name: "one cell in row 70,000", want: long(71_000, nil), got: long(71_000, at(70_000, func(s string) string { return strings.Replace(s, ".25", ".5", 1) })),
			text: `row 70,000, column "x": want "993.25", got "993.5"; 1 of 71,000 rows differ; 1 of 3 columns differ: "x"`, bySummary: `1 of 3 columns differ: "x"`},
		{name: "rounding", want: "a\n0.1\n", got: "a\n0.10000000000000002\n", text: "equal but for rounding, by at most 1.4e-16 of their size", bySummary: `differ: "a"`},
		{name: "last row missing", want: long(3000, nil), got: long(2999, nil), text: "1 row missing at the end; want 3,000 rows, got 2,999", bySummary: "want 3,000 rows, got 2,999"},
		{name: "extra rows at the end", want: long(2048, nil), got: long(2050, nil), text: "2 extra rows at the end; want 2,048 rows, got 2,050", bySummary: "want 2,048 rows, got 2,050"},
		{name: "row missing in the middle", want: long(3000, nil), got: long(3000, at(1500, func(string) string { return "" })),
			text: `row 1,500, column "id": want "1499", got "1500"; want 3,000 rows, got 2,999`, bySummary: "want 3,000 rows, got 2,999"},
		{name: "rows repeated in the middle", want: long(3000, nil), got: long(3000, at(1500, func(s string) string { return s + s + s })),
			text: `row 1,501, column "id": want "1500", got "1499"; want 3,000 rows, got 3,002`, bySummary: "want 3,000 rows, got 3,002"},
		{name: "extra column", want: "a,b\n1,2\n", got: "a,b,c\n1,2,3\n", text: `1 extra column: "c"`},
		{name: "column missing", want: "a,b\n1,2\n", got: "b\n2\n", text: `1 column missing: "a"`},
		{name: "column renamed", want: "a,b\n1,2\n", got: "a,B\n1,2\n", text: `1 column missing: "b"; 1 extra column: "B"`},
		{name: "header twice", want: "a,b\n1,2\n3,4\n", got: "a,b\na,b\n1,2\n3,4\n", text: `row 1, column "a": want "1", got "a"; want 2 rows, got 3`, bySummary: "want 2 rows, got 3"},
		{name: "column renamed, no rows", want: "a,b\n", got: "a,B\n", text: `1 column missing: "b"; 1 extra column: "B"`},
		{name: "column twice", want: "a,b\n1,2\n", got: "a,a\n1,2\n", text: `1 column missing: "b"; 1 extra column: "a (2)"`},
		{name: "row too long", want: "a,b\n1,2\n", got: "a,b\n1,2,3\n", text: `1 extra column: "(column 3)"`},
		{name: "empty", want: small, got: "", text: `3 columns missing: "id", "x" and "name"`},
		{name: "tabs", file: "f.tsv", want: "a\tb\n1\t2\n", got: "a\tb\n1\t2.0\n", ways: otherSpelling},
		{name: "JSON lines", file: "f.jsonl", want: `{"a":1,"b":"x"}` + "\n" + `{"a":2}` + "\n", got: `{"a":1,"b":"x"}` + "\n" + `{"a":3}` + "\n",
			text: `row 2, column "a": want "2", got "3"`, bySummary: `1 of 2 columns differ: "a"`},
		{name: "JSON lines, layout", file: "f.jsonl", want: `{"a":1,"b":[1,{"x":2}]}` + "\n", got: `{"b": [1, {"x": 2}], "a": 1}` + "\n", ways: otherSpelling},
		{name: "JSON text for number", file: "f.jsonl", want: `{"a":1}` + "\n", got: `{"a":"1"}` + "\n", text: `want "1", got "\"1\""`, bySummary: `differ: "a"`},
		{name: "JSON", file: "f.json", want: `[{"a":1},{"a":2}]`, got: `[{"a":1},{"a":5}]`, text: `row 2, column "a"`, bySummary: `differ: "a"`},
		{name: "JSON, layout", file: "f.json", want: `[{"a":1},{"a":2}]`, got: "[\n {\"a\": 1},\n {\"a\": 2}\n]", ways: otherSpelling},
		{name: "JSON that is no table", file: "f.json", want: `{"a":1}`, got: `{"a":2}`, text: "offset 5: want 0x31, got 0x32", bySummary: "where they differ is not known"},
		{name: "bytes", file: "f.bin", want: noise, got: noise[:200000] + "!" + noise[200001:], text: "offset 200,000: want 0x30, got 0x21", bySummary: "where they differ is not known"},
		{name: "bytes cut", file: "f.bin", want: noise, got: noise[:100], text: "ends too early, at offset 100", bySummary: "where they differ is not known"},
		{name: "bytes appended", file: "f.bin", want: noise, got: noise + "x", text: "bytes follow after offset 320,000", bySummary: "where they differ is not known"},
	}
}

type change struct {
	name, file, want, got string
	ways, text, bySummary string
}

func at(row int, change func(string) string) func(int, string) string {
	return func(i int, line string) string {
		if i == row {
			return change(line)
		}
		return line
	}
}

func (c change) path() string {
	if c.file == "" {
		return "f.csv"
	}
	return c.file
}

func (c change) check(t *testing.T, d compare.Difference, text string) {
	t.Helper()
	if d.Same != (c.ways != "") {
		t.Errorf("same = %v: %s", d.Same, d.Text)
	}
	ways, _, _ := strings.Cut(d.Text, " (")
	if want := "the content is equal, the bytes differ in " + c.ways; d.Same && ways != want {
		t.Errorf("text %q\nwant %q", ways, want)
	}
	if !strings.Contains(d.Text, text) {
		t.Errorf("text %q\nlacks %q", d.Text, text)
	}
}

func TestFiles(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			d, err := compare.Files(t.Context(), c.path(), opener(c.want), opener(c.got))
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, d, c.text)
		})
	}
}

func TestWithSummary(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			want, err := compare.Summarise(t.Context(), c.path(), opener(c.want))
			if err != nil {
				t.Fatal(err)
			}
			d, err := compare.WithSummary(t.Context(), c.path(), want, opener(c.got))
			if err != nil {
				t.Fatal(err)
			}
			text := c.text
			if c.bySummary != "" {
				text = c.bySummary
			}
			c.check(t, d, text)
		})
	}
}
