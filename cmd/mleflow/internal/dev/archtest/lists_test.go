package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../../../.."

// list returns the lines of a file of .ci/lists, without comments and reasons.
func list(t *testing.T, name string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".ci/lists", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "#" && name != "" {
			lines = append(lines, name)
		}
	}
	return lines
}

// TestSlow fails when make check leaves out a package that is gone, or one in which
// everybody's changes show.
func TestSlow(t *testing.T) {
	slow := list(t, "slow")
	if len(slow) > 20 {
		t.Errorf("make check leaves out %d packages, 20 at most", len(slow))
	}
	for _, p := range slow {
		if tests, _ := filepath.Glob(filepath.Join(root, p, "*_test.go")); tests == nil {
			t.Errorf(".ci/lists/slow: %s has no tests", p)
		}
		if p == "./cache" || strings.HasPrefix(p, "./engine") || strings.HasPrefix(p, "./plugins/numeric") {
			t.Errorf(".ci/lists/slow: %s belongs to the inner loop; skip what is slow there with testing.Short", p)
		}
	}
}

// TestRaceIsComplete fails when make race leaves out a package whose goroutines share
// anything. A pool or a value that is computed once is none of it.
func TestRaceIsComplete(t *testing.T) {
	shares := regexp.MustCompile(`(?m)^\s*go [a-z]|\.Go\(|\bsync\.(Mutex|RWMutex|WaitGroup|Map|Cond|Once\b)`)
	var want []string
	for _, folder := range []string{"cache", "engine", "plugins/sandbox/executor", "steps", "competitions/prep", "cmd/mleflow/internal/view"} {
		for _, file := range matching(t, folder, "*.go", shares) {
			want = append(want, "./"+path.Dir(file))
		}
	}
	slices.Sort(want)
	sameLines(t, "race", slices.Compact(want))
}

// TestRootScriptsAreComplete fails when root does not run a script again that depends on
// the user. Neither the runtime "process" does nor a file that is made executable.
func TestRootScriptsAreComplete(t *testing.T) {
	var want []string
	for _, file := range matching(t, "cmd/mleflow/testdata/script", "*.txtar", regexp.MustCompile(`chmod (-|[^-7]|7[^5]|75[^5])|umask|doctor|isolation|runtime *(= *"[^p]|=[^p" ]|[^= ])`)) {
		want = append(want, strings.TrimSuffix(path.Base(file), ".txtar"))
	}
	sameLines(t, "root-scripts", want)
}

// matching returns the files below a folder, by their names in the checkout, that
// contain what a pattern describes.
func matching(t *testing.T, folder, name string, pattern *regexp.Regexp) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d os.DirEntry, err error) error {
		if ok, _ := path.Match(name, d.Name()); err != nil || !ok {
			return err
		}
		text, err := os.ReadFile(file)
		if pattern.Match(text) {
			rel, _ := filepath.Rel(root, file)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameLines(t *testing.T, name string, want []string) {
	t.Helper()
	got := list(t, name)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf(".ci/lists/%s lacks %s", name, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf(".ci/lists/%s has %s, which does not belong there", name, line)
		}
	}
}
