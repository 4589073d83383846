package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote/s3test"
)

func TestS3(t *testing.T) {
	s := s3test.Start(t)
	address := s3test.Address(s.Addr, "team/cache")
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	dir := sample(t, 1, 200, 2)
	// 70 MB go up in parts and come down in several streams.
	if err := os.WriteFile(filepath.Join(dir, "huge"), noise(77, 70<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	rec := a.made("a", dir, nil)
	a.mustPush(rec)
	if got := b.take(rec.Action); cmp.Diff(rec, got) != "" {
		t.Fatalf("take: %s; %v", cmp.Diff(rec, got), b.said())
	}
	b.wantTree(rec.Outputs["tree"].Ref, dir)
	if _, err := os.Stat(filepath.Join(s.Dir, "bucket", "team", "cache", closureKey(rec.Outputs["tree"].Ref.ID))); err != nil {
		t.Errorf("the prefix is not where it should be: %v", err)
	}
	if recs, err := b.Records(t.Context(), func(digest.ActionID) bool { return true }); err != nil || cmp.Diff([]*cache.Record{rec}, recs) != "" {
		t.Errorf("Records: %v %s", err, cmp.Diff([]*cache.Record{rec}, recs))
	}
}

// TestS3DamageIsNoticed changes objects on the server's disk.
func TestS3DamageIsNoticed(t *testing.T) {
	s := s3test.Start(t)
	for i, what := range []string{packsName, objectsName, closuresName, actionsName} {
		prefix := fmt.Sprint("p", i)
		a := newMachine(t, s3test.Address(s.Addr, prefix), quick)
		b := newMachine(t, s3test.Address(s.Addr, prefix), quick)
		dir := sample(t, uint64(i), 40, 1)
		rec := a.made("a", dir, []byte("text"))
		a.mustPush(rec)
		damage(t, filepath.Join(s.Dir, "bucket", prefix), what)
		if b.take(rec.Action) != nil || b.Stats().Corrupt == 0 {
			t.Errorf("%s: damage was not noticed", what)
		}
		b.mustPush(b.made("a", dir, []byte("text")))
		if c := newMachine(t, s3test.Address(s.Addr, prefix), quick); c.take(rec.Action) == nil {
			t.Errorf("%s: a miss after it was stored again: %v", what, c.said())
		}
	}
}

// TestManyWriters lets sixteen machines store one closure at once.
func TestManyWriters(t *testing.T) {
	s := s3test.Start(t)
	address := s3test.Address(s.Addr, "race")
	dir := sample(t, 3, 120, 2)
	var group sync.WaitGroup
	recs := make([]*cache.Record, 16)
	start := make(chan struct{})
	for i := range recs {
		m := newMachine(t, address, quick)
		recs[i] = m.made("a", dir, []byte("same"))
		group.Go(func() {
			<-start
			if err := m.Push(context.Background(), recs[i]); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	close(start)
	group.Wait()
	for _, rec := range recs {
		if cmp.Diff(recs[0], rec) != "" {
			t.Fatalf("records differ: %s", cmp.Diff(recs[0], rec))
		}
	}
	b := newMachine(t, address, quick)
	if b.take(recs[0].Action) == nil {
		t.Fatalf("a miss: %v", b.said())
	}
	b.wantTree(recs[0].Outputs["tree"].Ref, dir)
}

// TestLostWrites stores where the connection is lost after every write, as it
// is to a server that refuses a conditional write without reading it.
func TestLostWrites(t *testing.T) {
	s := s3test.Start(t)
	p := s3test.StartProxy(t, s.Addr, 7)
	a := newMachine(t, s3test.Address(p.Addr, "lost"), quick)
	dir := sample(t, 9, 40, 1)
	rec := a.made("a", dir, []byte("text"))
	p.Set(1, s3test.LosePut)
	a.mustPush(rec)
	if made, _ := p.Made(); made == 0 {
		t.Error("no write was lost")
	}
	p.Set(0)
	b := newMachine(t, s3test.Address(s.Addr, "lost"), quick)
	if b.take(rec.Action) == nil {
		t.Fatalf("a miss: %v", b.said())
	}
	b.wantTree(rec.Outputs["tree"].Ref, dir)
}

// TestFaults stores and fetches through a network that fails, until it has
// failed several hundred times. What comes through is right; what does not is a
// miss.
func TestFaults(t *testing.T) {
	s := s3test.Start(t)
	p := s3test.StartProxy(t, s.Addr, 1)
	all := []s3test.Fault{
		s3test.ResetRequest, s3test.LoseAnswer, s3test.ResetAnswer, s3test.Truncate, s3test.Flip, s3test.Busy, s3test.Internal, s3test.Slow, s3test.Stale,
	}
	var hits, misses, stored int
	for round := 0; ; round++ {
		if made, _ := p.Made(); made >= 300 && round >= 10 {
			break
		}
		if round == 100 {
			t.Fatal("too few faults")
		}
		address := s3test.Address(p.Addr, fmt.Sprint("round", round%5))
		patient := quick
		if round%3 == 2 {
			patient.attempts = 2 // gives up often
		}
		a, b := newMachine(t, address, patient), newMachine(t, address, patient)
		dir := sample(t, uint64(round), 60, 2)
		p.Set(0.35, all...)
		rec := a.made(fmt.Sprint("step", round), dir, noise(uint64(round), 2000))
		if err := a.Push(t.Context(), rec); err == nil {
			stored++
		}
		got := b.take(rec.Action)
		if round == 4 { // lists, which may be old
			if all, err := b.Records(t.Context(), func(digest.ActionID) bool { return true }); err == nil && len(all) > 5 {
				t.Errorf("%d records are listed", len(all))
			}
		}
		p.Set(0)
		if got == nil {
			misses++
			if _, err := b.disk.Lookup(t.Context(), rec.Action); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("round %d: a miss that is in the local index: %v", round, err)
			}
			continue
		}
		hits++
		if diff := cmp.Diff(rec, got); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
		b.wantTree(rec.Outputs["tree"].Ref, dir)
	}
	made, requests := p.Made()
	t.Logf("%d faults in %d requests: %v; %d stored, %d hits, %d misses", made, requests, p.Counts(), stored, hits, misses)
	if hits < 3 {
		t.Errorf("only %d hits", hits)
	}
}

// TestResume shows that a large object goes on where it was cut off, in another
// process too.
func TestResume(t *testing.T) {
	s := s3test.Start(t)
	p := s3test.StartProxy(t, s.Addr, 2)
	local := openDisk(t)
	data := noise(5, 12<<20)
	a := newMachine(t, s3test.Address(s.Addr, "big"), quick)
	rec := a.recordOf("big", cache.Outputs{"blob": {Ref: a.putBlob(data)}})
	a.mustPush(rec)
	once := quick
	once.attempts = 1
	var total int64
	for n := 0; ; n++ {
		b := newMachineOn(t, local, s3test.Address(p.Addr, "big"), once)
		found := b.Find(t.Context(), []digest.ActionID{rec.Action})
		if found[0] == nil {
			t.Fatalf("not found: %v", b.said())
		}
		p.Set(0.9, s3test.ResetAnswer)
		err := b.Pull(t.Context(), rec)
		p.Set(0)
		total += b.Stats().BytesIn
		if err == nil {
			break
		}
		if n > 200 {
			t.Fatalf("it does not get on: %v", err)
		}
		b.Close()
	}
	if total > int64(len(data))*11/10 {
		t.Errorf("%d bytes were fetched for %d", total, len(data))
	}
}

func TestWrongCredentials(t *testing.T) {
	s := s3test.Start(t)
	const secret = "wrong-and-hush-hush"
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	m := newMachine(t, s3test.Address(s.Addr, "x"), quick)
	rec := m.made("a", sample(t, 1, 2, 0), nil)
	err := m.Push(t.Context(), rec)
	if !errors.Is(err, errCredentials) || strings.Contains(err.Error(), secret) {
		t.Errorf("Push: %v, want ErrCredentials without the secret", err)
	}
	if m.take(rec.Action) == nil { // it is here, whatever the remote says
		t.Error("a local result is a miss")
	}
	other := newMachine(t, s3test.Address(s.Addr, "x"), quick)
	if other.take(rec.Action) != nil {
		t.Error("a hit without credentials")
	}
	if said := other.said(); len(said) != 1 || !strings.Contains(said[0], "not allowed") {
		t.Errorf("warned %q", said)
	}
	before := other.Stats().Requests
	if other.take(rec.Action) != nil || other.Stats().Requests != before {
		t.Error("it was asked again although the credentials are wrong")
	}
}

func TestNoCredentials(t *testing.T) {
	for name := range s3test.Environ() {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	m := newMachine(t, s3test.Address("127.0.0.1:1", "x"), quick)
	started := time.Now()
	err := m.Push(t.Context(), m.made("a", sample(t, 1, 2, 0), nil))
	if !errors.Is(err, errCredentials) || time.Since(started) > 10*time.Second {
		t.Errorf("Push: %v after %s, want ErrCredentials soon", err, time.Since(started))
	}
}
