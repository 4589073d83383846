package agentrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/step"
)

func TestMask(t *testing.T) {
	tests := []struct {
		name    string
		values  []string
		in, out string
	}{
		{"none", nil, "some text", "some text"},
		{"one", []string{"hunter22"}, "my hunter22!", "my [secret]!"},
		{"twice", []string{"hunter22"}, "hunter22hunter22", "[secret][secret]"},
		{"at the end", []string{"hunter22"}, "it is hunter22", "it is [secret]"},
		{"cut off", []string{"hunter22"}, "it is hunter2", "it is hunter2"},
		{"overlapping start", []string{"aab-"}, "aaab-aaab-", "a[secret]a[secret]"},
		{"one in another", []string{"abcd", "abcdefgh"}, "abcdefgh abcdx", "[secret] [secret]x"},
		{"too short", []string{"abc"}, "abc", "abc"},
	}
	for _, tt := range tests {
		for chunk := 1; chunk <= len(tt.in); chunk++ {
			var out bytes.Buffer
			w := newMasker(tt.values).writer(&out)
			for rest := tt.in; rest != ""; {
				n := min(chunk, len(rest))
				if _, err := w.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := w.Close(); err != nil || out.String() != tt.out {
				t.Errorf("%s, in pieces of %d: got %q, want %q (%v)", tt.name, chunk, out.String(), tt.out, err)
			}
		}
	}
}

func TestResolveSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEY", "from the environment")
	tests := []struct{ ref, want, err string }{
		{"env:KEY", "from the environment", ""},
		{"env:NO_SUCH_KEY", "", "not set"},
		{"file:" + file, "from a file", ""},
		{"file:" + file + "x", "", "no such file"},
		{"command:printf 'from a: command\n'", "from a: command", ""},
		{"command:exit 3", "", "exit status 3"},
	}
	for _, tt := range tests {
		got, err := resolveSecret(t.Context(), tt.ref)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %q, %v", tt.ref, got, err)
		}
	}
	for _, bad := range []string{"", "env:", "plain text", "http://x", "sk-1:2"} {
		if step.CheckSecret(bad) == nil {
			t.Errorf("%q is taken as a reference", bad)
		}
	}
}
