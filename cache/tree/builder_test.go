package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/spill"
)

// plainTree is the oracle of Builder: a directory in memory, encoded bottom
// up by Put.
type plainTree struct {
	entries []Entry
	dirs    map[string]*plainTree
}

func (n *plainTree) dir(path string) *plainTree {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			continue
		}
		if n.dirs == nil {
			n.dirs = make(map[string]*plainTree)
		}
		if n.dirs[part] == nil {
			n.dirs[part] = &plainTree{}
		}
		n = n.dirs[part]
	}
	return n
}

func (n *plainTree) add(path string, ref cache.Ref, executable bool) {
	i := strings.LastIndexByte(path, '/') + 1
	d := n.dir(path[:i])
	d.entries = append(d.entries, NewEntry(path[i:], ref, executable))
}

func (n *plainTree) build(ctx context.Context, store cache.Store) (cache.Ref, error) {
	for _, name := range slices.Sorted(maps.Keys(n.dirs)) {
		ref, err := n.dirs[name].build(ctx, store)
		if err != nil {
			return cache.Ref{}, err
		}
		n.entries = append(n.entries, NewEntry(name, ref, false))
	}
	return Put(ctx, store, n.entries)
}

// Names that sort differently by path and by element.
var oddNames = []string{"a", "b", "a.b", "a-b", "a b", "a\x01", "ab", "A", "é", "\xff", "a\\", "a\nb", "0", "..."}

func oddPath(rng *rand.Rand) string {
	parts := make([]string, 1+rng.IntN(4))
	for i := range parts {
		parts[i] = oddNames[rng.IntN(len(oddNames))]
		if rng.IntN(2) == 0 {
			parts[i] += strconv.Itoa(rng.IntN(30))
		}
	}
	return strings.Join(parts, "/")
}

// A Builder that spills gives what one gives that does not, and what the
// oracle gives; and refuses the same.
func TestBuilderAgainstOracle(t *testing.T) {
	refused := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		store := newSink(t)
		var oracle plainTree
		builders := []*Builder{{}, {Memory: 1}, {Memory: 300, Work: store}, {Memory: 5000}}
		sub := cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte("sub")), Size: 10, Files: 3}
		taken := map[string]bool{}
		for range rng.IntN(300) {
			path, ref := oddPath(rng), cache.Ref{Kind: cache.Blob, ID: digest.ContentID{1, byte(rng.IntN(256))}, Size: rng.Int64N(1000)}
			executable := rng.IntN(5) == 0
			if rng.IntN(20) == 0 {
				ref = sub
			}
			if seed%3 > 0 && clashes(taken, path) {
				continue // two in three trees are right
			}
			asDir := rng.IntN(10) == 0
			if !asDir {
				taken[path] = true
			}
			if asDir {
				oracle.dir(path)
			} else {
				oracle.add(path, ref, executable)
			}
			for _, b := range builders {
				var err error
				if asDir {
					err = b.AddDir(path)
				} else {
					err = b.Add(path, ref, executable)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		want, wantErr := oracle.build(t.Context(), store)
		for i, b := range builders {
			target := newSink(t)
			got, err := b.Build(t.Context(), target)
			if (err != nil) != (wantErr != nil) || got != want || (err != nil && !errors.Is(err, ErrInvalid)) {
				t.Fatalf("seed %d, builder %d: %+v, %v, want %+v, %v", seed, i, got, err, want, wantErr)
			}
			if err == nil {
				if diff := cmp.Diff(store.kept, target.kept); diff != "" {
					t.Fatalf("seed %d, builder %d: objects (-want +got):\n%s", seed, i, diff)
				}
			}
		}
		if wantErr != nil {
			refused++
		}
	}
	if refused < 5 || refused > 40 {
		t.Errorf("%d of 60 trees were refused: the test shows little", refused)
	}
}

// clashes reports whether a file at path would be in the way of another, or
// another in its way.
func clashes(taken map[string]bool, path string) bool {
	for other := range taken {
		if other == path || strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

// sink is a store that keeps nothing but the sizes of what it is given.
type sink struct {
	cache.Store
	work  string
	kept  map[digest.ContentID]int64
	bytes int64
}

func newSink(t *testing.T) *sink {
	return &sink{work: t.TempDir(), kept: make(map[digest.ContentID]int64)}
}

func (s *sink) TempDir(string) (string, error) { return os.MkdirTemp(s.work, "work-") }

func (s *sink) Ingest(context.Context, string) (cache.Ingest, error) {
	return &sinkIngest{s: s, hash: digest.NewWriter()}, nil
}

type sinkIngest struct {
	cache.Ingest
	s    *sink
	hash *digest.Writer
}

func (in *sinkIngest) Write(p []byte) (int, error) { return in.hash.Write(p) }
func (in *sinkIngest) Close() error                { return nil }

func (in *sinkIngest) Commit(_ context.Context, want cache.Ref) (cache.Ref, error) {
	in.s.kept[in.hash.ID()] = in.hash.Size()
	in.s.bytes += in.hash.Size()
	if in.hash.ID() != want.ID {
		return want, fmt.Errorf("digest: %w", cache.ErrCorrupt)
	}
	return want, nil
}

// peak follows the most memory in use while it is asked from time to time.
type peak struct{ start, most uint64 }

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func newPeak() *peak {
	runtime.GC()
	return &peak{start: inUse()}
}

func (p *peak) look() { p.most = max(p.most, inUse()) }

func (p *peak) mib() float64 { return float64(p.most-min(p.start, p.most)) / (1 << 20) }

// filesVariable sets the number of files of TestBuilderMemory: 10000000 shows
// what a tree of that size needs (about half a minute).
const filesVariable = "MLEFLOW_TEST_TREE_FILES"

// The memory of a Builder does not grow with the number of files, whether
// they are in one folder or in many, and it leaves no file behind.
func TestBuilderMemory(t *testing.T) {
	files, limit := 300_000, 1<<20
	if text := os.Getenv(filesVariable); text != "" {
		var err error
		if files, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		limit = builderMemory
	}
	shapes := map[string]func(i int) string{
		"flat":    func(i int) string { return fmt.Sprintf("image-%08d.jpg", i) },
		"folders": func(i int) string { return fmt.Sprintf("d%03d/e%04d/image-%08d.jpg", i%7, i/1000, i) },
	}
	for name, path := range shapes {
		t.Run(name, func(t *testing.T) {
			s := newSink(t)
			b := NewBuilder(s)
			b.Memory = limit
			p := newPeak()
			for i := range files {
				i = i * 7919 % files // in no order
				ref := cache.Ref{Kind: cache.Blob, ID: digest.ContentID{1, byte(i), byte(i >> 8), byte(i >> 16)}, Size: 1}
				if err := b.Add(path(i), ref, false); err != nil {
					t.Fatal(err)
				}
				if i%20_000 == 0 {
					p.look()
				}
			}
			looking := &lookingStore{sink: s, p: p}
			ref, err := b.Build(t.Context(), looking)
			if err != nil || ref.Files != int64(files) {
				t.Fatalf("Build = %+v, %v", ref, err)
			}
			t.Logf("%d files, %d directories of %d bytes: at most %.1f MiB", files, len(s.kept), s.bytes, p.mib())
			// Twice what is held, since the heap is only collected when it has
			// doubled, and something for merging.
			bound := 2.5*float64(limit)/(1<<20) + 16
			if p.mib() > bound {
				t.Errorf("%.1f MiB in use, want at most %.1f", p.mib(), bound)
			}
			if list, err := os.ReadDir(s.work); err != nil || len(list) != 0 {
				t.Errorf("left %v, %v", list, err)
			}
		})
	}
}

// lookingStore looks at the memory whenever a directory is written.
type lookingStore struct {
	*sink
	p *peak
	n int
}

func (s *lookingStore) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	in, err := s.sink.Ingest(ctx, key)
	return &lookingIngest{in, s}, err
}

type lookingIngest struct {
	cache.Ingest
	s *lookingStore
}

func (in *lookingIngest) Write(p []byte) (int, error) {
	if in.s.n++; in.s.n%50 == 0 {
		in.s.p.look()
	}
	return in.Ingest.Write(p)
}

// A run that cannot be read back is an error, not a smaller tree.
func TestBuilderTornRun(t *testing.T) {
	var run *os.File
	b := Builder{sorted: spill.Sorter{Memory: 2000}}
	b.sorted.Temp = func() (f *os.File, err error) {
		run, err = spill.File(t.TempDir())
		return run, err
	}
	for i := range 100 {
		ref := cache.Ref{Kind: cache.Blob, ID: digest.ContentID{1}, Size: int64(i)}
		if err := b.Add(fmt.Sprint("d/", i), ref, false); err != nil {
			t.Fatal(err)
		}
	}
	if run == nil {
		t.Fatal("nothing was spilled")
	}
	if err := run.Truncate(100); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(t.Context(), newSink(t)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Build: error %v, want io.ErrUnexpectedEOF", err)
	}
}
