package ledger

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
)

func TestMask(t *testing.T) {
	tests := []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"none", nil, "plain", "plain"},
		{"empty is no secret", []string{"", "\n"}, "plain\n\n", "plain***"},
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
		{"lines of a key", []string{"-----BEGIN-----\nMIIEvQIBADAN\nab\n"}, "> MIIEvQIBADAN\r\n> ab\r\n", "> ***\r\n> ab\r\n"},
		{"not UTF-8", []string{"\xff\xfe"}, "a\xff\xfeb", "a***b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewSecrets(tt.secrets...)
			if got := s.Mask(tt.text); got != tt.want {
				t.Errorf("Mask(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
	if got := (*Secrets)(nil).Mask("x"); got != "x" {
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
func TestMaskerSplits(t *testing.T) {
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
		m := NewMasker(&out, NewSecrets(values...))
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
func TestMaskerIsPrompt(t *testing.T) {
	var out bytes.Buffer
	m := NewMasker(&out, NewSecrets("hunter2"))
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
		if got := string(NewSecrets(tt.secret).maskJSON([]byte(tt.doc))); got != tt.want {
			t.Errorf("secret %s in %s: %s, want %s", tt.secret, tt.doc, got, tt.want)
		}
	}
}

func TestMaskerError(t *testing.T) {
	if _, err := NewMasker(fullDisk{}, nil).Write([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// No file of a run has a secret, and all of them can still be read, even if
// the secret is a piece of JSON's syntax.
func TestNoSecretIsWritten(t *testing.T) {
	for _, secret := range []string{"s3cr3t-token", `quo"te\d`, "1", `":""`, `,"kind":`} {
		l := New(t.TempDir())
		r := begin(t, l, Opening{
			Info:    Info{Argv: []string{"-var", "token=" + secret}},
			Sources: map[string][]byte{"demo.hcl": []byte("# " + secret)},
			Secrets: NewSecrets(secret),
		})
		log := r.Log("step.exec.a", 1)
		for _, c := range []byte("before " + secret + " after") {
			if _, err := log.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r.Emit(event.StepFinished{At: at(1), Address: "step.exec.a", Status: event.Failed, Error: "401 for " + secret})
		r.Emit(event.RunFinished{At: at(2), Status: event.Failed})
		r.Close()
		p := find(t, l, r.ID())
		s, err := p.Summary()
		if err != nil || s.Unreadable != 0 || s.State != Failed {
			t.Fatalf("%q: summary %+v, %v", secret, s, err)
		}
		if text := readLog(t, p.logPath("step.exec.a", 1)); text != "before *** after" {
			t.Errorf("%q: log %q", secret, text)
		}
		if secret == "1" {
			continue // is in times, too
		}
		if p.Info.Argv[1] != "token=***" || s.Steps[0].Error != "401 for ***" {
			t.Errorf("%q: argv %q, error %q", secret, p.Info.Argv, s.Steps[0].Error)
		}
		if strings.Contains(secret, `":`) {
			continue // is in every document
		}
		err = filepath.Walk(r.dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(`quo\"te`)) {
				t.Errorf("%s has the secret %q", filepath.Base(path), secret)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
