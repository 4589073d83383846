package disk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// Hashing what a dead process wrote stops with the context and loses nothing.
func TestResumeHonoursContext(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	in, err := c.ingests.openKeyed(t.Context(), "key")
	must(t, err)
	data := bytes.Repeat([]byte("data"), 1<<18)
	_, err = in.Write(data)
	must(t, err)
	// The process dies: no saved state after that of the first byte.
	must(t, errors.Join(in.file.Close(), in.lock.Close()))

	cause := errors.New("the run was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if in, err := c.ingests.openKeyed(ctx, "key"); !errors.Is(err, cause) {
		t.Fatalf("got %v, %v, want the cause of the end", in, err)
	}
	in, err = c.ingests.openKeyed(t.Context(), "key")
	must(t, err)
	defer in.Close()
	if in.Offset() != int64(len(data)) || in.hash.ID() != digest.Of(data) {
		t.Errorf("offset %d of %d, or another hash", in.Offset(), len(data))
	}
}

// An ingest that holds nothing leaves nothing.
func TestEmptyKeyedLeavesNothing(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	for _, text := range []string{"", "text"} {
		in, err := c.Ingest(t.Context(), "key")
		must(t, err)
		_, err = io.WriteString(in, text)
		must(t, err)
		must(t, in.Reset())
		must(t, in.Close())
		if left := entriesOf(t, c.path(ingestName)); len(left) > 0 {
			t.Errorf("after %q: left %q", text, left)
		}
	}
	wantCounted(t, c)
}

func TestHoldWithoutFolder(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir, Options{}, hooks{})
	must(t, os.RemoveAll(c.path(locksName)))
	unlock, err := c.leases.lockHold()
	if unlock != nil || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errHeld) || !strings.Contains(err.Error(), "the folder "+c.path(locksName)+" of the cache is missing") {
		t.Fatalf("got %v", err)
	}
	must(t, c.Close())
	must(t, os.Mkdir(c.path(locksName), 0o777)) // as the error says
	c = openTest(t, dir, Options{}, hooks{})
	unlock, err = c.leases.lockHold()
	must(t, err)
	unlock()
}

// Times that are far apart, of a damaged record for instance, have an order,
// too.
func TestOrderOfExtremes(t *testing.T) {
	values := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for _, a := range values {
		for _, b := range values {
			if got, want := compareItems(Item{RecordedUnixMilli: a}, Item{RecordedUnixMilli: b}), cmp.Compare(a, b); got != want {
				t.Errorf("%d and %d: got %d, want %d", a, b, got, want)
			}
		}
	}
}
