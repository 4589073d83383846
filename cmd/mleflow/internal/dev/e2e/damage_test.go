package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/cachetest"
)

// TestDamagedState empties a file of each kind in a cache that is not content, and writes zeros over
// its first 64 bytes. Each heals itself or is named with a remedy, after which no step runs
// again and nothing was removed.
func TestDamagedState(t *testing.T) {
	type cure struct{ says, remedy string }
	heals := cure{}
	table := []struct {
		files string
		want  cure
	}{
		{"format", cure{`its file "format" is damaged: if this version of mleflow made the cache, write the line "mleflow cache 1" to it`, `echo 'mleflow cache 1' > format`}},
		{"index/log", cure{"run 'mleflow cache repair'", "repair"}},
		{"records/log", heals},
		{"state", heals},
		{"sync", heals},
		{"reserve", heals},
		{"locks/*", heals},
		{"pins/*.json", cure{"or remove the file, which ends the pin", `rm pins/*.json`}},
		{"pipelines/*", heals},
		{"runs/*/run.json", heals},
		{"runs/*/plan.json", heals},
		{"runs/*/events.jsonl", heals},
		{"runs/*/lock", heals},
		{"runs/*/pipeline/*", heals},
		{"runs/*/logs/*", heals},
	}
	p := smallPlace(t)
	want, _ := p.finish()
	if _, stderr, code := p.run("cache", "pin", "latest"); code != 0 {
		t.Fatal(stderr)
	}
	whole := p.cache
	for _, tt := range table {
		files, err := filepath.Glob(filepath.Join(whole, tt.files))
		if err != nil || len(files) == 0 {
			t.Errorf("no files %s, %v", tt.files, err)
		}
		for _, path := range files[:min(1, len(files))] {
			name, _ := filepath.Rel(whole, path)
			for how, damage := range map[string]string{"emptied": `: > "$0"`, "zeros": `dd if=/dev/zero of="$0" bs=64 count=1 conv=notrunc 2>&1`} {
				t.Run(name+" "+how, func(t *testing.T) {
					p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache"), file: p.file}
					cachetest.Removable(t, p.cache)
					sh := func(script, arg string) {
						cmd := exec.Command("sh", "-c", script, arg)
						cmd.Dir = filepath.Dir(p.cache)
						if _, err := os.Stat(p.cache); err == nil {
							cmd.Dir = p.cache
						}
						if out, err := cmd.CombinedOutput(); err != nil {
							t.Fatalf("%v: %s", err, out)
						}
					}
					sh(`cp -a "$0" cache`, whole)
					before := len(objects(t, p.cache))
					sh(`chmod u+w "$0"; `+damage, name)
					if tt.want.says != "" {
						_, gc, collected := p.run("cache", "gc")
						if collected != 1 || !strings.Contains(gc, tt.want.says) {
							t.Errorf("gc: exit %d, %q", collected, gc)
						}
						if out, stderr, code := p.run("apply", p.file, "--json"); code == 0 && !strings.Contains(out, `"ran":0`) {
							t.Errorf("apply: exit %d, %q", code, stderr)
						}
						if tt.want.remedy == "repair" {
							if out, stderr, code := p.run("cache", "repair"); code != 0 {
								t.Errorf("repair: exit %d\n%s%s", code, out, stderr)
							}
						} else {
							sh(tt.want.remedy, "")
						}
					}
					got, ran := p.finish()
					if ran > 0 || len(got) != len(want) {
						t.Errorf("%d steps ran again, outputs %v", ran, got)
					}
					p.verify()
					if _, stderr, code := p.run("cache", "gc"); code != 0 || len(objects(t, p.cache)) < before {
						t.Errorf("gc: exit %d, %q; %d of %d objects are left", code, stderr, len(objects(t, p.cache)), before)
					}
					if _, stderr, code := p.run("runs"); code != 0 {
						t.Errorf("runs: exit %d, %q", code, stderr)
					}
				})
			}
		}
	}
}
