package source

import (
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// TestSumsGoOn continues a file whose beginning an earlier sink received, and drops it.
func TestSumsGoOn(t *testing.T) {
	data := kaggletest.Bytes(3, 1_000_000)
	store := memory.New()
	open := func() *sink {
		s, err := openSink(t.Context(), store, "key")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for off := 0; off < 450_000; off += 10_000 {
		if err := s.write(data[off : off+10_000]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	if err := s.write(data[450_000:]); err != nil {
		t.Fatal(err)
	}
	if s.hexMD5() != md5Hex(data) || s.id() != digest.Of(data) {
		t.Error("the sums are wrong")
	}
	if err := s.drop(); err != nil {
		t.Fatal(err)
	}
	if s = open(); s.offset() != 0 {
		t.Errorf("%d bytes are left after they were dropped", s.offset())
	}
	s.in.Close()
}
