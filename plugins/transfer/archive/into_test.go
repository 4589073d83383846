package archive_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// into unpacks an archive into a store and returns its tree.
func into(store cache.Cache, src archive.Source, format archive.Format, o archive.IntoOptions) (cache.Ref, *archive.Unpacked, error) {
	ctx := context.Background()
	if o.Limits == (archive.Limits{}) {
		o.Limits = archive.DefaultLimits()
	}
	o.Format = format
	var b tree.Builder
	u, err := archive.Into(ctx, store, src, &b, o)
	if err != nil {
		return cache.Ref{}, nil, err
	}
	ref, err := b.Build(ctx, store)
	if err = errors.Join(err, u.Close()); err != nil {
		return cache.Ref{}, nil, err
	}
	return ref, u, nil
}

// list returns the files of a tree with their MD5; folders have none.
func list(t *testing.T, store cache.Cache, ref cache.Ref) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := tree.Walk(context.Background(), store, ref, func(name string, e tree.Entry) error {
		if e.IsDir() {
			out[name] = "folder"
			return nil
		}
		data, err := cache.Get(context.Background(), store, e.ID, 1<<30)
		sum := md5.Sum(data)
		out[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// manyFiles are small and large files, in an order that mixes them.
func manyFiles() (pairs []string) {
	for i := range 300 {
		pairs = append(pairs, fmt.Sprintf("dir %d/%d.txt", i%7, i), strings.Repeat(fmt.Sprint(i, " "), i*i))
	}
	large := strings.Repeat("0123456789abcdef", 200_000)
	return append(pairs, "large.bin", large, "dir 1/empty", "", "noise.bin", incompressible(4<<20), "large again.bin", large+"!")
}

func TestInto(t *testing.T) {
	files := map[string][]byte{}
	pairs := manyFiles()
	want := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
		sum := md5.Sum(files[pairs[i]])
		want[pairs[i]] = hex.EncodeToString(sum[:])
	}
	for i := range 7 {
		want[fmt.Sprintf("dir %d", i)] = "folder"
	}
	for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.TarGzip, archive.TarZstd, archive.SevenZip} {
		t.Run(string(format), func(t *testing.T) {
			store := memory.New()
			data := packPairs(t, format, pairs)
			ref, u, err := into(store, source(data), format, archive.IntoOptions{Key: "it"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, list(t, store, ref)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if u.Files != int64(len(files)) || u.Continued != 0 {
				t.Errorf("%d files, %d continued, want %d and 0", u.Files, u.Continued, len(files))
			}
			told := 0
			again, u, err := into(store, source(data), format, archive.IntoOptions{Key: "it", Progress: func(p archive.Progress) {
				if told++; p.Files != int64(len(files)) {
					t.Errorf("told of %d files, want what was there", p.Files)
				}
			}})
			if told != 1 {
				t.Errorf("told %d times of what took no time, want once", told)
			}
			if err != nil || again != ref || u.Continued != int64(len(files)) || u.Files != int64(len(files)) {
				t.Errorf("the second time: %+v, %v, want all continued", u, err)
			}
		})
	}
}

func packPairs(t *testing.T, format archive.Format, pairs []string) []byte {
	t.Helper()
	var buf bytes.Buffer
	p, err := archive.NewPacker(&buf, format, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		w, err := p.Create(pairs[i])
		if err == nil {
			_, err = io.WriteString(w, pairs[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestIntoInterrupted cancels the work after the first file: that is an error, not an
// archive of one file.
func TestIntoInterrupted(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 100_000)
	for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.SevenZip} {
		ctx, cancel := context.WithCancel(context.Background())
		var b tree.Builder
		_, err := archive.Into(ctx, memory.New(), source(packPairs(t, format, []string{"large", large, "small", "x"})), &b, archive.IntoOptions{
			Format: format, Limits: archive.DefaultLimits(), Workers: 1,
			Progress: func(p archive.Progress) {
				if p.Files > 0 {
					cancel()
				}
			},
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", format, err, context.Canceled)
		}
	}
}

// TestIntoGoesOn fails reading at every tenth of an archive in turn: the next
// attempt does not unpack again what the last one stored.
func TestIntoGoesOn(t *testing.T) {
	pairs := manyFiles()
	for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.TarGzip, archive.SevenZip} {
		data := packPairs(t, format, pairs)
		store := memory.New()
		for tenth := 1; tenth < 10; tenth++ {
			src := source(data)
			src.ReaderAt = &failing{ReaderAt: src.ReaderAt, left: int64(len(data) * tenth / 10), from: 0}
			if format == archive.Zip || format == archive.SevenZip {
				src.ReaderAt.(*failing).from = int64(len(data)) * 8 / 10 // the directory stays readable
			}
			_, _, err := into(store, src, format, archive.IntoOptions{Key: "it", Workers: 3})
			if err != nil && !errors.Is(err, errBroken) {
				t.Fatalf("%s: %v", format, err)
			}
		}
		ref, u, err := into(store, source(data), format, archive.IntoOptions{Key: "it"})
		if err != nil {
			t.Fatal(err)
		}
		if u.Continued == 0 || u.Files != int64(len(pairs)/2) {
			t.Errorf("%s: %+v: nothing was kept", format, u)
		}
		whole, _, err := into(memory.New(), source(data), format, archive.IntoOptions{})
		if err != nil || whole != ref {
			t.Errorf("%s: the tree differs from one unpacked at once: %v", format, err)
		}
	}
}

var errBroken = errors.New("broken disk")

// failing gives a number of bytes and then an error; what is behind from is
// always there.
type failing struct {
	io.ReaderAt
	left int64
	from int64
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.from > 0 && off >= f.from {
		return f.ReaderAt.ReadAt(p, off)
	}
	if atomic.AddInt64(&f.left, -int64(len(p))) < 0 {
		return 0, errBroken
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestIntoNested(t *testing.T) {
	inner := packPairs(t, archive.TarGzip, []string{"x/1.txt", "one", "x/deep.zip", string(zipOf(t, "y", "z"))})
	big := packPairs(t, archive.Zip, []string{"big.bin", incompressible(3 << 20)})
	outer := []string{"plain.txt", "p", "in/inner.tar.gz", string(inner), "big.zip", string(big), "no archive.bin", "text", "other.zip", string(zipOf(t, "y", "z"))}
	nested := func(name string) bool { return name != "other.zip" }
	for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.SevenZip} {
		store := memory.New()
		data := packPairs(t, format, outer)
		ref, u, err := into(store, source(data), format, archive.IntoOptions{Key: "it", Nested: nested})
		if err != nil {
			t.Fatal(err)
		}
		got := list(t, store, ref)
		for name, want := range map[string]string{
			"plain.txt": "p", "in/inner.tar.gz": "", "in/inner.tar.gz/x/1.txt": "one", "in/inner.tar.gz/x/deep.zip": string(zipOf(t, "y", "z")),
			"big.zip": "", "big.zip/big.bin": incompressible(3 << 20), "no archive.bin": "text", "other.zip": string(zipOf(t, "y", "z")),
		} {
			sum := md5.Sum([]byte(want))
			if want == "" && got[name] != "folder" || want != "" && got[name] != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: %s: %q", format, name, got[name])
			}
		}
		again, u2, err := into(store, source(data), format, archive.IntoOptions{Key: "it", Nested: nested})
		if err != nil || again != ref || u2.Continued != 5 || u2.Files != u.Files {
			t.Errorf("%s: the second time: %+v, %v", format, u2, err)
		}
	}
}

// incompressible returns bytes that do not get smaller.
func incompressible(n int) string {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return string(out)
}
