package agentrun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// dataOf returns the folder that an agent sees as its data.
func dataOf(t *testing.T, spec executor.Spec) string {
	t.Helper()
	for _, m := range spec.Mounts {
		if m.Guest == "/home/data" {
			if !m.ReadOnly {
				t.Error("the data may be written to")
			}
			return m.Host
		}
	}
	t.Fatal("no data")
	return ""
}

// unlinked is a cache on a file system without hard links.
type unlinked struct{ cache.Cache }

func (u unlinked) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	p.Private = true
	return u.Cache.Place(ctx, ref, path, p)
}

// An attempt that has ended leaves its links to the next one with the same data,
// unless its agent may still see or could have changed them.
func TestDataPassedOn(t *testing.T) {
	for name, tt := range map[string]struct {
		store func(cache.Cache) cache.Cache
		caps  []cty.Value
		err   error
		want  int
	}{
		"ended":        {want: 1},
		"no links":     {store: func(c cache.Cache) cache.Cache { return unlinked{c} }},
		"capabilities": {caps: []cty.Value{cty.StringVal("CAP_SYS_ADMIN")}},
		"failed":       {err: errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := openStore(t, dir)
			cachetest.Removable(t, dir)
			wantKept := func(when string, want int) {
				if info, err := store.Info(t.Context()); err != nil || info.LinkFolders != want {
					t.Errorf("%s %d folders are kept, want %d; %v", when, info.LinkFolders, want, err)
				}
			}
			m := &machine{running: map[string]executor.Spec{}}
			m.command = func(s executor.Spec) error {
				wantKept("while the agent runs", 0)
				for name, text := range toyData {
					if got, err := os.ReadFile(filepath.Join(dataOf(t, s), name)); err != nil || string(got) != text {
						t.Errorf("%s holds %q, %v", name, got, err)
					}
				}
				return errors.Join(submit(s, "x\n"), tt.err)
			}
			b := newBench(t, m.runtime())
			b.Store = store
			args := values(b, t, who([]string{"/agent"}, nil))
			if tt.caps != nil {
				args["capabilities"] = cty.ListVal(tt.caps)
			}
			if tt.store != nil {
				b.Store = tt.store(store)
			}
			for i := range 2 {
				args["seed"] = cty.NumberIntVal(int64(i))
				if _, err := b.Run(t, args); !errors.Is(err, tt.err) {
					t.Fatalf("%v\n%s", err, b.Log())
				}
				wantKept("after the attempt", tt.want)
			}
		})
	}
}

// An attempt whose process was killed leaves nothing to others: its agent goes on.
func TestDataOfResumed(t *testing.T) {
	var data string
	m := &machine{running: map[string]executor.Spec{}}
	m.command = func(s executor.Spec) error {
		data = dataOf(t, s)
		_, err := os.Stat(data)
		return errors.Join(err, submit(s, "x\n"))
	}
	b := newBench(t, m.runtime())
	dir := t.TempDir()
	store := openStore(t, dir)
	cachetest.Removable(t, dir)
	b.Store = store
	args := values(b, t, who([]string{"/agent"}, nil))
	kill(t, b, m, args)
	if info, err := store.Info(t.Context()); err != nil || info.LinkFolders != 0 {
		t.Errorf("%d folders are kept, %v", info.LinkFolders, err)
	}
	if r := run(t, b, args); !r.Stats.Resumed || data == "" {
		t.Errorf("it was not resumed: %+v", r)
	}
}
