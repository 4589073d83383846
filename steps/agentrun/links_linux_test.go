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
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
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

// What an agent in a sandbox tries with its data changes neither its links, which the
// next attempt takes without looking at the files, nor the cache.
func TestDataLinksHostile(t *testing.T) {
	boxed := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
	if here := boxed.Here(); !here.OK {
		t.Skip(here.Because)
	}
	b := newBench(t, boxed)
	dir := t.TempDir()
	store := openStore(t, dir)
	cachetest.Removable(t, dir)
	b.Store = store
	args := values(b, t, shell(`cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv
		try() { "$@" >/dev/null 2>&1 && echo "did: $*"; }
		cd "$DATA_DIR"
		try mount -o remount,rw "$DATA_DIR"; try mount -o remount,bind,rw "$DATA_DIR"; try umount "$DATA_DIR"
		try unshare -Urm mount -o remount,bind,rw "$DATA_DIR"
		for f in . train.csv deep deep/er/file.txt /proc/self/cwd/train.csv; do
			try chmod 777 $f; try touch $f; try touch -d @1 $f; try chown 0 $f
		done
		for f in train.csv deep/new deep/er/file.txt; do try sh -c "echo spoilt > $f"; try sh -c "echo spoilt 1<> $f"; done
		try ln train.csv deep/new; try ln train.csv $AGENT_DIR/new; try mv train.csv deep; try mv deep other; try rm -f train.csv; try mkdir new
		try python3 -c 'import mmap, os; f = os.open("train.csv", os.O_RDWR); mmap.mmap(f, 1)[0] = 0'
		echo tried`))
	args["runtime"] = cty.StringVal(boxed.Name)
	var folders []os.FileInfo
	for i := range 3 {
		args["seed"] = cty.NumberIntVal(int64(i))
		if r := run(t, b, args); r.Logs["output.log"] != "tried\n" {
			t.Errorf("attempt %d: %s", i, r.Logs["output.log"])
		}
		list, err := filepath.Glob(filepath.Join(dir, "links", "*"))
		if err != nil || len(list) != 1 {
			t.Fatalf("kept: %q, %v", list, err)
		}
		info, err := os.Stat(list[0])
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, info)
		if !os.SameFile(info, folders[0]) {
			t.Errorf("attempt %d did not take the folder of the first", i)
		}
		for name, text := range toyData {
			if got, err := os.ReadFile(filepath.Join(list[0], name)); err != nil || string(got) != text {
				t.Errorf("%s holds %q, %v", name, got, err)
			}
		}
	}
	wantUndamaged(t, store)
}
