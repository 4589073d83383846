package pysource_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// words shows tokens as text, a line end as ⏎.
func words(src string) string {
	var out []string
	for _, t := range pysource.Tokens(src) {
		if t.Kind == pysource.Newline {
			out = append(out, "⏎")
			continue
		}
		out = append(out, t.Text)
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"statement":           {"a = b.c(1, x='y')  # comment", "a = b . c ( 1 , x = 'y' ) ⏎"},
		"brackets join lines": {"f(\n  1,\n  2)\ng()", "f ( 1 , 2 ) ⏎ g ( ) ⏎"},
		"backslash":           {"a = 1 + \\\n  2", "a = 1 + 2 ⏎"},
		"numbers":             {"1_000 0x1F 1.5e-3 .5 1j 0xe+1", "1_000 0x1F 1.5e-3 .5 1j 0xe + 1 ⏎"},
		"prefixes":            {`rb'\n' f"{x}" u''`, `rb'\n' f"{x}" u'' ⏎`},
		"triple quotes":       {"'''a\nb''' + \"\"\"c\"\"\"", "'''a\nb''' + \"\"\"c\"\"\" ⏎"},
		"escaped quote":       {`'it\'s' x`, `'it\'s' x ⏎`},
		"operators":           {"a **= b // c != d -> e := f", "a **= b // c != d -> e := f ⏎"},
		"semicolon":           {"a; b", "a ⏎ b ⏎"},
		"CRLF continues":      {"a = \\\r\n 1", "a = 1 ⏎"},
		"letters":             {"größe = 名", "größe = 名 ⏎"},
		"string not closed":   {"a = 'b\nc = 1", "a = 'b ⏎ c = 1 ⏎"},
		"triple not closed":   {"a = '''b\nc = 1", "a = '' 'b ⏎ c = 1 ⏎"},
		"bracket not closed":  {"a = f(1,\ndef g(): return 1", "a = f ( 1 , ⏎ def g ( ) : return 1 ⏎"},
		"too many closed":     {"a)))\nb", "a ) ) ) ⏎ b ⏎"},
		"strange characters":  {"a ? $ `b", "a ? $ ` b ⏎"},
		"empty":               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, words(c.src)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLines(t *testing.T) {
	src := "a\n'''x\ny'''\nb \\\n c\n(\nd)\n'\\\ne'\nf"
	var got []string
	for _, tok := range pysource.Tokens(src) {
		if tok.Kind != pysource.Newline {
			got = append(got, fmt.Sprintf("%d %q", tok.Line, tok.Text))
		}
	}
	want := []string{`0 "a"`, `1 "'''x\ny'''"`, `3 "b"`, `4 "c"`, `5 "("`, `6 "d"`, `6 ")"`, `7 "'\\\ne'"`, `9 "f"`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestValue(t *testing.T) {
	for src, want := range map[string]string{`'a'`: "a", `rb"x"`: "x", `'''q'''`: "q", `''`: "", `""""""`: "", `'open`: "open", `'`: ""} {
		if got := pysource.Tokens(src)[0].Value(); got != want {
			t.Errorf("%s has the value %q, want %q", src, got, want)
		}
	}
}

func TestNotebooks(t *testing.T) {
	const four = `{"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": [
	  {"cell_type": "markdown", "source": "# Title"},
	  {"cell_type": "code", "source": ["import os\n", "%matplotlib inline\n", "!ls\n", "x = 1"], "outputs": [{"data": {"image/png": "AAAA"}}]},
	  {"cell_type": "code", "source": "%%bash\nrm -rf x"},
	  {"cell_type": "code", "source": "%%time\ny = 2\n%time z = 3"}]}`
	const three = `{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": ["a = 1\n", "b = 2"]}]}]}`
	for _, c := range []struct{ name, text, want, place string }{
		{"nbformat 4", four, "import os ⏎ x = 1 ⏎ y = 2 ⏎ z = 3 ⏎", "cell 4, line 2"},
		{"nbformat 3", three, "a = 1 ⏎ b = 2 ⏎", "cell 1, line 2"},
	} {
		s, err := pysource.Parse("a.ipynb", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, words(strings.Join(s.Lines, "\n"))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		last := s.Cells[len(s.Cells)-1].Start + 1
		if got := s.Place(last); got != c.place {
			t.Errorf("%s: line %d is at %q, want %q", c.name, last, got, c.place)
		}
	}
}

func TestReadDirReportsWhatItSkips(t *testing.T) {
	dir := fstest.MapFS{
		"a.py":                          {Data: []byte("x = 1")},
		"b.ipynb":                       {Data: []byte("{")},
		"big.py":                        {Data: []byte(strings.Repeat("x = 1\n", pysource.MaxCode/6+1))},
		"binary.py":                     {Data: []byte("a\x00b")},
		"c.R":                           {Data: []byte("x <- 1")},
		"r.ipynb":                       {Data: []byte(`{"metadata": {"kernelspec": {"language": "R"}}, "cells": []}`)},
		".ipynb_checkpoints/b-ch.ipynb": {Data: []byte("{")},
		"deep/.ipynb_checkpoints/x.py":  {Data: []byte("x = 1")},
		"deep/down/utf16.py":            {Data: []byte("\xff\xfeb")},
	}
	sources, skipped, err := pysource.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sources {
		got = append(got, s.Name)
	}
	for _, s := range skipped {
		got = append(got, s.Name+": "+s.Reason)
	}
	want := []string{
		"a.py", "deep/down/utf16.py", "b.ipynb: it is not a notebook: unexpected end of JSON input",
		"big.py: it holds more than 4 MiB of code", "binary.py: it is a binary file", "r.ipynb: its language is not Python",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestHostileTextIsLinear would take hours if a string that is never closed were
// searched for again and again.
func TestHostileTextIsLinear(t *testing.T) {
	for _, part := range []string{`\"""`, `'''`, `("`, "[", "\\\n", "'\\\n", "=-", "f'"} {
		src := strings.Repeat(part, pysource.MaxCode/len(part))
		if n := len(pysource.Tokens(src)); n > len(src)+1 {
			t.Errorf("%q gives %d tokens", part, n)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"a = 'b'", "'''", "\\", "f(\ndef g", "0x", "rb\"", "é\xff", "%%time\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		lines, last := strings.Count(src, "\n"), 0
		for _, tok := range pysource.Tokens(src) {
			if tok.Line < last || tok.Line > lines {
				t.Fatalf("token %q is on line %d, after %d, of %d", tok.Text, tok.Line, last, lines)
			}
			last = tok.Line
			tok.Value()
		}
		s, err := pysource.Parse("a.py", []byte(src))
		if err != nil {
			return
		}
		if text := s.Excerpt(-1, 5, 3); utf8.ValidString(src) && !utf8.ValidString(text) {
			t.Fatalf("the excerpt %q is not UTF-8", text)
		}
	})
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells": [{"cell_type": "code", "source": ["a", "b"]}]}`))
	f.Add([]byte(`{"worksheets": [{"cells": [{"cell_type": "code", "input": "a"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := pysource.Parse("a.ipynb", data)
		if err != nil {
			return
		}
		for i := range s.Lines {
			s.Place(i)
		}
		s.Tokens()
	})
}
