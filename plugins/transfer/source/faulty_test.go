package source

import (
	"bytes"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// profile is how a server names the versions of a file.
type profile struct {
	name   string
	change func(*kaggletest.Object)
	pin    bool
	// resumes says that the client can prove that parts belong together, so
	// that it must not fetch them twice.
	resumes bool
}

var profiles = []profile{
	{"google", func(*kaggletest.Object) {}, false, true},
	{"etag", func(o *kaggletest.Object) { o.MD5, o.Modified = false, time.Time{} }, false, true},
	{"date", func(o *kaggletest.Object) { o.MD5, o.ETag = false, "" }, false, true},
	{"weak etag and date", func(o *kaggletest.Object) { o.MD5, o.ETag = false, `W/"weak"` }, false, true},
	{"pin", func(o *kaggletest.Object) { o.MD5, o.ETag, o.Modified = false, "", time.Time{} }, true, true},
	{"nothing", func(o *kaggletest.Object) { o.MD5, o.ETag, o.Modified = false, "", time.Time{} }, false, false},
	{"weak etag", func(o *kaggletest.Object) { o.MD5, o.ETag, o.Modified = false, `W/"weak"`, time.Time{} }, false, false},
	{"no ranges", func(o *kaggletest.Object) { o.NoRanges = true }, false, false},
}

// history is one download from a server that misbehaves.
type history struct {
	seed    uint64
	profile profile
	size    int
	plan    kaggletest.Plan
	kinds   []kaggletest.Kind
}

// newHistory draws one from its seed.
func newHistory(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
	h := history{seed: seed, profile: profiles[r.IntN(len(profiles))]}
	sizes := []int{0, 1, 2, 100, 2047, 2048, 4097, 16385, 65537, 300_000}
	switch n := r.IntN(100); {
	case n == 0:
		h.size = 3<<20 + 17
	case n < 30:
		h.size = sizes[r.IntN(len(sizes))]
	default:
		h.size = r.IntN(120_000)
	}
	h.kinds = kaggletest.All()
	for range r.IntN(4) { // some see fewer kinds, each more often
		h.kinds = slices.Delete(h.kinds, 0, r.IntN(len(h.kinds)))
	}
	if h.profile.pin { // another archive would never be taken
		h.kinds = slices.DeleteFunc(h.kinds, func(k kaggletest.Kind) bool { return k == kaggletest.Replace })
	}
	if !h.profile.resumes { // each file is one answer, which must once be whole
		h.plan = kaggletest.Seeded(seed, 0.2, h.kinds...)
		return h
	}
	h.plan = kaggletest.Seeded(seed, 0.02+0.2*r.Float64(), h.kinds...)
	return h
}

// download is what became of a history.
type download struct {
	sent, useless, faults, fetches int64
	size                           int64
}

// play downloads as often as the engine would until it succeeds.
func (h history) play(t *testing.T, store cache.Cache) (d download) {
	srv := kaggletest.New(h.plan)
	defer srv.Close()
	o := kaggletest.NewObject(h.seed, h.size)
	h.profile.change(&o)
	srv.Add(kaggletest.Competition{Slug: "toy", Archive: o})
	k := scaledKaggle(srv, 1+int(h.seed%8))
	defer k.http.web.open.CloseIdleConnections()
	spec := Spec{Slug: "toy"}
	if h.profile.pin {
		spec.MD5, spec.SHA256 = md5Hex(o.Data), digest.Of(o.Data).String()
	}
	for {
		data, err := k.Fetch(t.Context(), Request{Spec: spec, Store: store})
		d.fetches++
		var temporary *TemporaryError
		if errors.As(err, &temporary) && d.fetches < 100 {
			continue
		}
		st := srv.Stats()
		d.sent, d.useless, d.faults = st.Sent.Load(), st.Useless.Load(), st.Faults.Load()
		if err != nil {
			t.Errorf("seed %d, %s: %v", h.seed, h.profile.name, err)
			return d
		}
		want := srv.Archive("toy").Data
		d.size = int64(len(want))
		if got := read(t, store, data.Ref); !bytes.Equal(got, want) || data.MD5 != md5Hex(want) {
			t.Errorf("seed %d, %s: WRONG BYTES ACCEPTED: %d of %d bytes", h.seed, h.profile.name, len(got), len(want))
		}
		if n := st.Leaks.Load(); n > 0 {
			t.Errorf("seed %d: the credential was sent to the storage", h.seed)
		}
		return d
	}
}

// scaledKaggle is the source with all sizes and times made small.
func scaledKaggle(srv *kaggletest.Server, connections int) *Kaggle {
	client := &http.Client{Transport: newTransport()}
	client.Transport.(*http.Transport).ResponseHeaderTimeout = 5 * time.Second
	h := NewHTTP(client, Connections(connections))
	h.wait, h.window, h.least = time.Millisecond, 200*time.Millisecond, 64
	h.smallest, h.largest = 2<<10, 16<<10
	k := NewKaggle(h)
	k.env = func(name string) string {
		return map[string]string{"KAGGLE_API_ENDPOINT": srv.Endpoint, "KAGGLE_API_TOKEN": kaggletest.Token}[name]
	}
	return k
}

func md5Hex(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // published pins are MD5
	return hex.EncodeToString(sum[:])
}

// TestFaultyDownloads plays 300 histories, or as many as MLEFLOW_HISTORIES says. None may
// give wrong bytes, and what is sent twice must stay below 2 % of what is delivered.
//
// Counted are the answers that a client can use, of the version that it ends
// with, from servers that let it prove that parts belong together. The rest is
// lost whatever a client does: answers with other bytes than asked for, what
// came of a version since replaced, and unprovable parts.
func TestFaultyDownloads(t *testing.T) {
	t.Parallel()
	histories := uint64(300)
	if text := os.Getenv("MLEFLOW_HISTORIES"); text != "" {
		if _, err := fmt.Sscan(text, &histories); err != nil {
			t.Fatal(err)
		}
	}
	var (
		next        atomic.Uint64
		mu          sync.Mutex
		all, proven download
		wg          sync.WaitGroup
		begin       = time.Now()
		add         = func(to *download, d download) {
			to.sent, to.useless, to.faults, to.fetches, to.size = to.sent+d.sent, to.useless+d.useless, to.faults+d.faults, to.fetches+d.fetches, to.size+d.size
		}
	)
	for range 24 {
		wg.Go(func() {
			for seed := next.Add(1); seed <= histories && !t.Failed(); seed = next.Add(1) {
				h := newHistory(seed)
				var store cache.Cache = memory.New()
				if seed%20 == 0 {
					c, err := disk.Open(t.TempDir(), disk.Options{})
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					store = c
				}
				d := h.play(t, store)
				mu.Lock()
				add(&all, d)
				if h.profile.resumes {
					add(&proven, d)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	waste := float64(proven.sent-proven.size) / float64(proven.size)
	t.Logf("%d downloads, %d faults, %d fetches, %d bytes in %v", histories, all.faults, all.fetches, all.size, time.Since(begin).Round(time.Millisecond))
	t.Logf("provable: %d bytes delivered, %d sent: %.3f %% twice; %.1f %% in answers nobody could use", proven.size, proven.sent, 100*waste, 100*float64(proven.useless)/float64(proven.size))
	t.Logf("unprovable: %d bytes delivered, %d sent", all.size-proven.size, all.sent-proven.sent)
	if waste > 0.02 {
		t.Errorf("%.2f %% of the bytes were sent twice, want less than 2 %%", 100*waste)
	}
	if all.faults < int64(histories) {
		t.Errorf("only %d faults", all.faults)
	}
}
