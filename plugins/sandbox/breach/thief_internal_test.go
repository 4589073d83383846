//go:build linux

package breach

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWritableSettings plants files that may be written to where nothing may.
func TestWritableSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "release_agent")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(*thief) []try{"settings": opened(file), "groups": groups(dir)} {
		if f := (probe{name: name, fix: "fix", run: run}).finding(run(&thief{})); f.Result != Reached || f.Fix != "fix" || f.Reached[0] != file {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
	if f := (probe{}).finding(groups(filepath.Join(dir, "none"))(&thief{})); f.Result != Held || f.HeldBy != "no control groups are visible" {
		t.Errorf("without groups: %+v", f)
	}
}

// TestFinding sums up tries.
func TestFinding(t *testing.T) {
	for name, tt := range map[string]struct {
		tries []try
		want  Result
		by    string
	}{
		"held":        {[]try{{"a", unix.ENOENT}, {"b", unix.EPERM}, {"c", unix.ENOENT}}, Held, "it is not visible there; the kernel refuses it: no capability, or seccomp"},
		"reached":     {[]try{{"a", nil}, {"b", unix.EROFS}}, Reached, "the mount is read-only"},
		"partly":      {[]try{{"a", skipped("no proxy")}, {"b", unix.EACCES}}, Held, "no proxy; no permission"},
		"not tried":   {[]try{{"a", skipped("no proxy")}}, NotTried, "no proxy"},
		"tried first": {[]try{{"a", unix.EACCES}, {"b", skipped("no proxy")}}, Held, "no permission; no proxy"},
		"empty":       {nil, NotTried, ""},
	} {
		if f := (probe{}).finding(tt.tries); f.Result != tt.want || f.HeldBy != tt.by || (f.Result == Reached) != (len(f.Reached) > 0) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
