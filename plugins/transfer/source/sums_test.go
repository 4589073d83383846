package source

import (
	"context"
	"io"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// countingStore counts what is read back from ingests.
type countingStore struct {
	cache.Cache
	read int64
}

type countingIngest struct {
	cache.Ingest
	s *countingStore
}

func (s *countingStore) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	in, err := s.Cache.Ingest(ctx, key)
	return &countingIngest{in, s}, err
}

func (in *countingIngest) ReadAt(p []byte, off int64) (int, error) {
	n, err := in.Ingest.ReadAt(p, off)
	in.s.read += int64(n)
	return n, err
}

// TestSumsGoOn continues a file's hashes from the journal, also from one that
// was cut off or knows more than there is.
func TestSumsGoOn(t *testing.T) {
	data := kaggletest.Bytes(3, 1_000_000)
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, journal cache.Ingest)
		most   int64 // to be read again
	}{
		{"whole", func(*testing.T, cache.Ingest) {}, 60_000},
		{"cut off", func(_ *testing.T, j cache.Ingest) { io.WriteString(j, `{"size":99`) }, 60_000},
		{"knows too much", func(_ *testing.T, j cache.Ingest) { io.WriteString(j, `{"size":5000000,"md5":"AAAA"}`+"\n") }, 60_000},
		{"of another program", func(_ *testing.T, j cache.Ingest) {
			j.Reset()
			io.WriteString(j, `{"size":400000,"md5":"AAAA","sha":"AAAA"}`+"\n")
		}, 460_000},
		{"lost", func(_ *testing.T, j cache.Ingest) { j.Reset() }, 460_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &countingStore{Cache: memory.New()}
			open := func() *sink {
				s, err := openSink(t.Context(), store, "key", true, 100_000)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := open()
			for off := 0; off < 450_000; off += 10_000 {
				if err := s.write(t.Context(), data[off:off+10_000]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.close(t.Context()); err != nil {
				t.Fatal(err)
			}
			journal, err := store.Ingest(t.Context(), journalOf("key"))
			if err != nil {
				t.Fatal(err)
			}
			tt.damage(t, journal)
			journal.Close()
			store.read = 0
			s = open()
			if store.read > tt.most {
				t.Errorf("%d bytes were read again, want %d at most", store.read, tt.most)
			}
			if err := s.write(t.Context(), data[450_000:]); err != nil {
				t.Fatal(err)
			}
			if s.hexMD5() != md5Hex(data) || s.sha.ID() != digest.Of(data) {
				t.Error("the sums are wrong")
			}
			if err := s.drop(); err != nil {
				t.Fatal(err)
			}
			if s = open(); s.offset() != 0 {
				t.Errorf("%d bytes are left after they were dropped", s.offset())
			}
			s.close(t.Context())
		})
	}
}
