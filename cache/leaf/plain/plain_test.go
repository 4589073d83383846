package plain_test

import (
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

func TestPlain(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		line, source := plain.Line(h.Text), plain.Source([]byte(h.Text))
		for name, got := range map[string]string{"Line": line, "Source": string(source)} {
			if err := hostiletest.Terminal(got); err != nil {
				t.Errorf("%s: %s: %v", h.Name, name, err)
			}
		}
		if len(source) != len(h.Text) {
			t.Errorf("%s: the places in the text change", h.Name)
		}
	}
	for _, text := range hostiletest.Good() {
		if plain.Line(text) != text || string(plain.Source([]byte(text))) != text {
			t.Errorf("%q changes", text)
		}
	}
	if got := plain.Line("a\nb\tc"); got != "a b c" {
		t.Errorf("a line: %q", got)
	}
}

func TestUnfinished(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "aé": 0, "a\xc3": 1, "€\xe2\x82": 2, "\xf0\x9f\x8e": 3, "\xff": 0, "\x80\x80\x80\x80": 0} {
		if got := plain.Unfinished([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
