package jsontoken_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

func tokens(text []byte) (all []jsontoken.Token) {
	for l := jsontoken.New(text); l.Next(); {
		all = append(all, l.Token)
	}
	return all
}

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    nil,
		" \t\r\n":             nil,
		`{"a" : [1,-2.5e+3]}`: {`0 {`, `1 name "a"`, `1 :`, `1 [`, `2 word 1`, `2 ,`, `2 word -2.5e+3`, `1 ]`, `0 }`},
		`["a" "b"]`:           {`0 [`, `1 string "a"`, `1 string "b"`, `0 ]`},
		`NaN, -Infinity`:      {`0 word NaN`, `0 ,`, `0 word -Infinity`},
		`"\\\"" "\\"`:         {`0 string "\\\""`, `0 string "\\"`},
		`{"a\"`:               {`0 {`, `1 open "a\"`},
		`"`:                   {`0 open "`},
		"]]{\x00é\x01":        {"-1 ]", "-2 ]", "-2 {", "-1 word \x00é", "-1 word \x01"},
		`true"x"[`:            {`0 word true`, `0 string "x"`, `0 [`},
	} {
		var got []string
		for _, token := range tokens([]byte(text)) {
			kind := map[byte]string{jsontoken.Open: " open", jsontoken.Word: " word", jsontoken.String: " string"}[token.Kind]
			if token.Name {
				kind = " name"
			}
			got = append(got, fmt.Sprintf("%d%s %s", token.Depth, kind, text[token.Start:token.End]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, text := range []string{"", "<a&b>", "\"\\\n", "é\u2028"} {
		quoted := jsontoken.Quote(text)
		if back, err := jsontoken.Unquote([]byte(quoted)); back != text || err != nil {
			t.Errorf("%q became %s and %q, %v", text, quoted, back, err)
		}
	}
	if got := jsontoken.Quote("<&>"); got != `"<&>"` {
		t.Error(got)
	}
	plain, kept := []byte(jsontoken.Quote(strings.Repeat("a", 100))), ""
	if n := testing.AllocsPerRun(100, func() { kept, _ = jsontoken.Unquote(plain) }); n != 1 {
		t.Errorf("a string of %d bytes takes %v allocations", len(kept), n)
	}
	if _, err := jsontoken.Unquote([]byte(`"\x"`)); err == nil {
		t.Error("an unknown escape was decoded")
	}
}

// FuzzTokens checks that tokens cover a text, and compares those of valid JSON
// with encoding/json's.
func FuzzTokens(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2,{"b":"c\n\"x\\"}],"d":null,"a":{}}`, `[{"x":-0.5e-7}, true, "s\ud83d\ude42", [], {} ]`, `{"a":NaN,"b":-Infinity}`,
		`{"a"`, `[`, ` [ ] x`, `"a`, `"a\`, `]}{`, "{\"a\"\n:\t1}\r\n", `"\ud800"`, "\"\xff\"", `1 2`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all := tokens(text)
		end := 0
		for _, token := range all {
			if token.Start < end || token.End <= token.Start || token.End > len(text) || len(bytes.Trim(text[end:token.Start], " \t\r\n")) > 0 {
				t.Fatalf("%q: %+v comes after byte %d", text, token, end)
			}
			end = token.End
		}
		if len(bytes.Trim(text[end:], " \t\r\n")) > 0 {
			t.Fatalf("%q: no tokens after byte %d", text, end)
		}
		if json.Valid(text) {
			compare(t, text, all)
		}
	})
}

// compare compares tokens with those of encoding/json, which passes over commas
// and colons.
func compare(t *testing.T, text []byte, all []jsontoken.Token) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	depth := 0
	for _, token := range all {
		if token.Kind == ',' || token.Kind == ':' {
			continue
		}
		want, err := d.Token()
		if err != nil || int(d.InputOffset()) != token.End {
			t.Fatalf("%q: %+v, encoding/json is at byte %d, %v", text, token, d.InputOffset(), err)
		}
		raw := text[token.Start:token.End]
		var got any = json.Number(raw)
		switch want := want.(type) {
		case json.Delim:
			if strings.ContainsRune("]}", rune(want)) {
				depth--
			}
			got = json.Delim(token.Kind)
		case string:
			s, err := jsontoken.Unquote(raw)
			if err != nil {
				t.Fatalf("%q: %s: %v", text, raw, err)
			}
			got = string([]rune(s)) // every invalid byte is U+FFFD
		case bool, nil:
			_ = json.Unmarshal(raw, &got)
		}
		if !cmp.Equal(got, want) || token.Depth != depth {
			t.Fatalf("%q: %+v is %v at depth %d, not %v at %d", text, token, got, token.Depth, want, depth)
		}
		if open, ok := want.(json.Delim); ok && (open == '[' || open == '{') {
			depth++
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("%q: more tokens: %v", text, err)
	}
}

// TestNames checks names on their own: the decoder does not tell them from
// values.
func TestNames(t *testing.T) {
	text := []byte(`{"a":"b","c":{"d":["e",{"f":"g"}]},"h" : 1}`)
	var names []string
	for _, token := range tokens(text) {
		if token.Name {
			names = append(names, string(text[token.Start+1:token.End-1]))
		}
	}
	if diff := cmp.Diff([]string{"a", "c", "d", "f", "h"}, names); diff != "" {
		t.Error(diff)
	}
}
