package agentrun_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// placingVariable asks for TestPlacing: the number of small files, and the size of
// a sparse one in GB, such as "300000,30".
const placingVariable = "MLEFLOW_TEST_PLACING"

// TestPlacing prints the seconds from the start of an attempt to that of its agent,
// and the files that were copied meanwhile, for each runtime, as a benchmark does. It
// asserts what is copied only.
func TestPlacing(t *testing.T) {
	sizes := strings.Split(os.Getenv(placingVariable), ",")
	if len(sizes) != 2 {
		t.Skipf("%s is not set", placingVariable)
	}
	files, _ := strconv.Atoi(sizes[0])
	gigabytes, _ := strconv.ParseInt(sizes[1], 10, 64)
	dir := t.TempDir()
	store := openStore(t, dir)
	cachetest.Removable(t, dir)
	t.Run("files", func(t *testing.T) {
		data := smallFiles(t, store, files)
		t.Run("process", func(t *testing.T) { place(t, process.Runtime(""), store, data, shell("true")) })
		placeIsolated(t, store, data)
	})
	// A process would get a copy, which is not sparse.
	t.Run("sparse", func(t *testing.T) { placeIsolated(t, store, sparseFile(t, store, gigabytes*1e9)) })
}

func placeIsolated(t *testing.T, store *disk.Cache, data cache.Ref) {
	t.Run("sandbox", func(t *testing.T) {
		boxed := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
		if here := boxed.Here(); !here.OK {
			t.Skip(here.Because)
		}
		place(t, boxed, store, data, shell("true"))
	})
	t.Run("containerd", func(t *testing.T) {
		e := containerd.New(containerdtest.Start(t).Options)
		t.Cleanup(func() { e.Close() })
		place(t, e.Runtime(), store, data, contained(t, containerdtest.Image(t), nil, "id", ""))
	})
}

func place(t *testing.T, runtime executor.Runtime, store *disk.Cache, data cache.Ref, agent cty.Value) {
	// Otherwise the first attempt would take the links of another runtime's.
	kept, err := filepath.Glob(filepath.Join(store.Dir(), "links", "*"))
	for _, dir := range kept {
		err = errors.Join(err, tree.Remove(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, runtime)
	b.Store = store
	b.Limits.Timeout = time.Hour
	args := values(b, t, agent)
	args["data"] = step.NewArtifact(&step.Artifact{Ref: data})
	args["runtime"] = cty.StringVal(runtime.Name)
	for i := range 3 {
		var began, running time.Time
		var once sync.Once
		b.Phase = func(p step.Phase) {
			if p.Name == step.Running {
				once.Do(func() { running = time.Now() })
			}
		}
		args["seed"] = cty.NumberIntVal(int64(i))
		began = time.Now()
		run(t, b, args)
		list := copiedIn(t, b.Log())
		got, which := list[len(list)-1], "first"
		if i > 0 {
			which = "later"
		}
		fmt.Printf("Benchmark%s/%s\t1\t%.4f s-start\t%s files-copied\n", t.Name()[len("Test"):], which, running.Sub(began).Seconds(), strings.Fields(got)[0])
		if got != none && (runtime.Isolates || i > 0) {
			t.Errorf("attempt %d copied %s", i+1, got)
		}
	}
}

// smallFiles is a tree of files of 4 KiB, ten of them with the same content.
func smallFiles(t *testing.T, store *disk.Cache, n int) cache.Ref {
	b := tree.NewBuilder(store)
	var ref cache.Ref
	for i := range n {
		if i%10 == 0 {
			var err error
			if ref, err = cache.PutBytes(t.Context(), store, []byte(strings.Repeat(fmt.Sprintf("%015d\n", i), 256))); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Add(fmt.Sprintf("images/%03d/%06d.jpg", i%1000, i), ref, false); err != nil {
			t.Fatal(err)
		}
	}
	return withSample(t, store, b)
}

// sparseFile is a tree of one file of zeros, which takes no space in the cache: it
// is put there by the format of objects.
func sparseFile(t *testing.T, store *disk.Cache, size int64) cache.Ref {
	hash := digest.NewWriter()
	if _, err := io.CopyN(hash, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	ref := cache.Ref{Kind: cache.Blob, ID: hash.ID(), Size: size}
	path := filepath.Join(store.Dir(), "objects", ref.ID.String()[:2], ref.ID.String())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	seal := time.Unix(time.Now().Unix(), int64(binary.BigEndian.Uint32(ref.ID[digest.Size-4:])%1e9))
	for _, err := range []error{f.Truncate(size), f.Chmod(0o444), f.Close(), os.Chtimes(path, seal, seal)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b := tree.NewBuilder(store)
	if err := b.Add("big.bin", ref, false); err != nil {
		t.Fatal(err)
	}
	return withSample(t, store, b)
}

func withSample(t *testing.T, store *disk.Cache, b *tree.Builder) cache.Ref {
	sample, err := cache.PutBytes(t.Context(), store, []byte(toyData["sample_submission.csv"]))
	if err == nil {
		err = b.Add("sample_submission.csv", sample, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	ref, err := b.Build(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
