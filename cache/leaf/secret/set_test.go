package secret

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// every is a set of all values, even weak ones.
func every(values ...string) *Set {
	return newSet(values, func(value string) bool { return value == "" })
}

func TestMask(t *testing.T) {
	tests := []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "plain", "plain"},
		{"empty is no secret", []string{"", "\n"}, "plain\n\n", "plain\n\n"},
		{"once", []string{"hunter2"}, "password hunter2.", "password ***."},
		{"at both ends", []string{"abc"}, "abc-abc", "***-***"},
		{"next to each other", []string{"abc"}, "abcabcd", "***d"},
		{"longest", []string{"abc", "abcdef"}, "abcdef abcdex", "*** ***dex"},
		{"overlapping", []string{"abcd", "cdef"}, "xabcdefx", "x***x"},
		{"within itself", []string{"aba"}, "xababax", "x***x"},
		{"inside another", []string{"abcdef", "cd"}, "abcdef", "***"},
		{"prefix only", []string{"abcdef"}, "abcde", "abcde"},
		{"from a file", []string{" token-1\n"}, "use token-1 now", "use *** now"},
		{"within JSON", []string{`a"b\c`}, `{"x":"a\"b\\c"}`, `{"x":"***"}`},
		{"within JSON, as other writers spell it", []string{`a"<b>`}, `{"x":"a\"<b>","y":"a\"\u003cb\u003e"}`, `{"x":"***","y":"***"}`},
		{"lines of a key", []string{"-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0B\nab\n"}, "> MIIEvQIBADANBgkqhkiG9w0B\r\n> ab\r\n-----BEGIN-----", "> ***\r\n> ab\r\n-----BEGIN-----"},
		{"not UTF-8", []string{"\xff\xfe"}, "a\xff\xfeb", "a***b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := every(tt.secrets...)
			if got := s.Mask(tt.text); got != tt.want {
				t.Errorf("Mask(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
	if got := (*Set)(nil).Mask("x"); got != "x" {
		t.Errorf("nil secrets: %q", got)
	}
}

// naive masks the plain way: every byte that is in some occurrence of some
// value is covered, and covered stretches are replaced.
func naive(values []string, text string) string {
	covered := make([]bool, len(text))
	for i := range text {
		for _, v := range values {
			if strings.HasPrefix(text[i:], v) {
				for k := range len(v) {
					covered[i+k] = true
				}
			}
		}
	}
	var out strings.Builder
	for i := range covered {
		switch {
		case !covered[i]:
			out.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			out.WriteString(mask)
		}
	}
	return out.String()
}

// However a text is split into writes, what comes out is the same, and what
// the plain algorithm gives.
func TestWriterSplits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aab"[rnd.IntN(3)]
		}
		return string(b)
	}
	masked := 0
	for range 5000 {
		var values []string
		for range rnd.IntN(4) {
			values = append(values, word(2+rnd.IntN(5)))
		}
		text := word(rnd.IntN(40))
		want := naive(values, text)
		if want != text {
			masked++
		}
		var out bytes.Buffer
		m := NewWriter(&out, every(values...))
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			if k, err := m.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := m.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Fatalf("secrets %q, text %q: got %q, want %q", values, text, got, want)
		}
	}
	if masked < 1000 {
		t.Errorf("only %d texts had secrets", masked)
	}
}

// A text is held back only as long as it may become a secret.
func TestWriterIsPrompt(t *testing.T) {
	var out bytes.Buffer
	m := NewWriter(&out, every("hunter2"))
	for _, step := range []struct{ in, want string }{
		{"line\n", "line\n"}, {"hun", "line\n"}, {"ger", "line\nhunger"}, {"hunter", "line\nhunger"}, {"2", "line\nhunger***"},
	} {
		if _, err := m.Write([]byte(step.in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Fatalf("after %q: %q, want %q", step.in, out.String(), step.want)
		}
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestMaskJSON(t *testing.T) {
	tests := []struct{ secret, doc, want string }{
		{"secret", `{"secret":["a secret",1]}`, `{"***":["a ***",1]}`},
		{`\dxyz`, `["a\\dxyz","b\"c"]`, `["a***","b\"c"]`},
		{`nabc`, `["line\nabc","nabcd"]`, `["***","***d"]`},
		{"none", `["a","unterminated`, `["a","unterminated`},
	}
	for _, tt := range tests {
		if got := string(every(tt.secret).JSON([]byte(tt.doc))); got != tt.want {
			t.Errorf("secret %s in %s: %s, want %s", tt.secret, tt.doc, got, tt.want)
		}
	}
}

func TestWriterError(t *testing.T) {
	if _, err := NewWriter(fullDisk{}, nil).Write([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

var errCause = errors.New("refused hunter2")

func TestError(t *testing.T) {
	s := every("hunter2")
	err := s.Error(fmt.Errorf("log in: %w", errCause))
	if err.Error() != "log in: refused ***" || !errors.Is(err, errCause) {
		t.Errorf("got %q, the cause is lost: %v", err, !errors.Is(err, errCause))
	}
	if other := errors.New("other"); s.Error(other) != other || s.Error(nil) != nil || (*Set)(nil).Error(other) != other {
		t.Error("an error without a secret is changed")
	}
}
