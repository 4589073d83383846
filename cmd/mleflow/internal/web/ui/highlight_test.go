package ui

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/hostiletest"
)

var tag = regexp.MustCompile(`</?span[^>]*>`)

// TestColoured colours code and changes no letter of it.
func TestColoured(t *testing.T) {
	texts := []string{"import os\n\ndef f(x):\n    return 'é' + x  # sum\n", "{\"a\": [1, null]}", "for i in *; do echo \"$i\"; done", "", "\n", "\r\n\ttext", "a\xffb", "<script>alert(1)</script>"}
	for _, h := range hostiletest.Texts() {
		texts = append(texts, h.Text, "x = '''"+h.Text)
	}
	for _, language := range []string{"python", "main.py", "json", "bash", "html", "javascript", "", "../../etc", "<b>"} {
		for _, text := range texts {
			var lines []string
			for _, l := range coloured(language, text) {
				lines = append(lines, html.UnescapeString(tag.ReplaceAllString(string(l), "")))
				if rest := tag.ReplaceAllString(string(l), ""); strings.ContainsAny(rest, "<>") {
					t.Errorf("%s: %.80q has a tag: %.200q", language, text, rest)
				}
			}
			if got := strings.Join(lines, "\n"); got != strings.ToValidUTF8(text, "\ufffd") {
				t.Errorf("%s: %.200q became %.200q", language, text, got)
			}
		}
	}
	for _, tt := range []struct{ language, text, want string }{
		{"py", "def f(): return 1", `<span class="hk">def</span> <span class="hf">f</span>(): <span class="hk">return</span> <span class="hn">1</span>`},
		{"a/b.py", "x = f'''a\n#b''' # c", `x = <span class="hs">f&#39;&#39;&#39;a</span>`},
		{"python", "définir = 'x' # y", `définir = <span class="hs">&#39;x&#39;</span> <span class="hc"># y</span>`},
		{"json", `{"a": "b\"", "c": null}`, `{<span class="hf">&#34;a&#34;</span>: <span class="hs">&#34;b\&#34;&#34;</span>, <span class="hf">&#34;c&#34;</span>: <span class="hn">null</span>}`},
		{"bash", "for f in a#b; do echo $f; done # c", `<span class="hk">for</span> f <span class="hk">in</span> a#b; <span class="hk">do</span> <span class="hf">echo</span> <span class="hn">$f</span>; <span class="hk">done</span> <span class="hc"># c</span>`},
		{"x.yml", "folds: 5", `<span class="hf">folds</span>: <span class="hn">5</span>`},
		{"c++", "int x = 1; /* y */", `int x = <span class="hn">1</span>; <span class="hc">/* y */</span>`},
		{"diff", "+a\n-b", `<span class="hs">+a</span>`},
		{"unheard", "def f", "def f"},
	} {
		if got, _, _ := strings.Cut(string(block(tt.language, tt.text)), "\n"); got != tt.want {
			t.Errorf("%s: %s is %s", tt.language, tt.text, got)
		}
	}
}

// TestColouringEnds colours texts that regular expressions can be slow at.
func TestColouringEnds(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 200_000), strings.Repeat("a ", 100_000), strings.Repeat("'''\n\"", 40_000), strings.Repeat("\\\n", 100_000), strings.Repeat("<a b=", 40_000)} {
		for _, language := range []string{"python", "bash", "yaml", "markdown", "c++", "json"} {
			began := time.Now()
			coloured(language, text)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s takes %s for %.20q", language, took, text)
			}
		}
	}
}
