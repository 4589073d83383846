package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// newDemo is a machine with an empty cache and the demo pipeline.
func newDemo(t *testing.T) *place {
	t.Helper()
	file, err := filepath.Abs("../../../../../pipelines/demo.hcl")
	if err != nil {
		t.Fatal(err)
	}
	return &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: file}
}

// TestRemoteCache takes the demo from machine to machine by way of a server.
func TestRemoteCache(t *testing.T) {
	s := s3test.Start(t)
	t.Setenv("MLEFLOW_REMOTE_CACHE", s3test.Address(s.Addr, "team"))

	a := newDemo(t)
	want, ran := a.finish()
	if ran == 0 {
		t.Fatal("machine A ran nothing")
	}
	b := newDemo(t)
	if stdout, _, _ := b.run("plan", b.file); !strings.Contains(stdout, " to run") {
		t.Errorf("plan asked the network:\n%s", stdout)
	}
	got, ranB := b.finish()
	if ranB != 0 || cmp.Diff(want, got) != "" {
		t.Errorf("machine B ran %d steps, outputs differ by %s", ranB, cmp.Diff(want, got))
	}
	if stdout, _, _ := b.run("plan", b.file); !strings.Contains(stdout, "Nothing to do") {
		t.Errorf("plan does not know what apply found:\n%s", stdout)
	}
	if stdout, stderr, code := b.run("cache", "pull", "--all"); code != 0 {
		t.Errorf("cache pull: exit %d\n%s%s", code, stdout, stderr)
	}
	b.verify()

	// A machine that needs only the last step fetches only what that reads.
	c := newDemo(t)
	stdout, stderr, code := c.run("apply", c.file, "-force", "step.aggregate.board", "--json")
	if code != 0 || !strings.Contains(stdout, `"ran":1`) {
		t.Errorf("machine C: exit %d\n%s%s", code, stdout, stderr)
	}

	damageAll(t, s, "team/packs/*/*")
	damageAll(t, s, "team/objects/*/*")
	d := newDemo(t)
	stdout, stderr, code = d.run("apply", d.file, "-force", "step.aggregate.board")
	if code != 0 || strings.Contains(stdout, "failed") || !strings.Contains(stderr, "does not match its name") {
		t.Fatalf("machine D, with damaged objects: exit %d\n%s%s", code, stdout, stderr)
	}
	if got, _ := d.finish(); cmp.Diff(want, got) != "" {
		t.Errorf("machine D: outputs differ by %s", cmp.Diff(want, got))
	}
	d.verify()

	// What D made again it stored again.
	e := newDemo(t)
	stdout, stderr, code = e.run("apply", e.file, "-force", "step.aggregate.board", "--json")
	if code != 0 || !strings.Contains(stdout, `"ran":1`) {
		t.Errorf("machine E: exit %d\n%s%s", code, stdout, stderr)
	}
}

func damageAll(t *testing.T, s *s3test.Server, pattern string) {
	t.Helper()
	paths := s.Files(t, pattern)
	if len(paths) == 0 {
		t.Fatalf("no object is called %s", pattern)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemoteCacheIsDown shows that a run does not need it.
func TestRemoteCacheIsDown(t *testing.T) {
	for name, value := range s3test.Environ() {
		t.Setenv(name, value)
	}
	t.Setenv("MLEFLOW_REMOTE_CACHE", s3test.Address("127.0.0.1:1", "x"))
	p := newDemo(t)
	stdout, stderr, code := p.run("apply", p.file)
	if code != 0 || strings.Count(stderr, "Warning:") == 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, secret := range []string{"mleflow-test-secret", "endpoint="} {
		if strings.Contains(stdout+stderr, secret) {
			t.Errorf("the output tells %s:\n%s%s", secret, stdout, stderr)
		}
	}
}
