package grading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"id,label\n1,2\n", "the columns of the file are id, label"},
		{"ID,digit\r\n", `the columns of the file are ID, digit ("ID" differs by case or spaces)`},
		{`" id","digit"` + "\n", `the columns of the file are  id, digit (" id" differs by case or spaces)`},
		{"id;digit\n1;2\n", "the columns of the file are id;digit (they are separated by semicolons, not by commas)"},
		{"\ufeffx,digit\n", "the columns of the file are x, digit (the file begins with a byte order mark)"},
		{"a,b,c,d,e,f,g,h,i,j,k,l\n", "the columns of the file are a, b, c, d, e, f, g, h, i, j, and 2 more"},
		{"a\x1b[31m,b\n", "the columns of the file are a"},
		{"", "the columns of the file are "},
	} {
		path := filepath.Join(t.TempDir(), "s.csv")
		if err := os.WriteFile(path, []byte(tt.line), 0o644); err != nil {
			t.Fatal(err)
		}
		got := Hint(because(`column "id" is missing`), path)
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
		if other := Hint(because("there are 2 rows; expected 3"), path); other != "" {
			t.Errorf("another reason: %q", other)
		}
	}
}

func because(reason string) (r Report) {
	r.Reason = reason
	return r
}
