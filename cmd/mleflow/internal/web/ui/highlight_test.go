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
	if got := string(block("py", "def f(): return 1")); !strings.Contains(got, `<span class="hk">def</span>`) || !strings.Contains(got, `<span class="hn">1</span>`) {
		t.Errorf("Python is %s", got)
	}
}

// TestColouringEnds colours texts that lexers are slow at.
func TestColouringEnds(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 200_000), strings.Repeat("a ", 100_000), strings.Repeat("'''\n\"", 40_000), strings.Repeat("\\\n", 100_000), strings.Repeat("<a b=", 40_000)} {
		for _, language := range []string{"python", "bash", "html", "markdown", "c++"} {
			began := time.Now()
			coloured(language, text)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s takes %s for %.20q", language, took, text)
			}
		}
	}
}
