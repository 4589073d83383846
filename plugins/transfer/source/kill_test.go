package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// The child of TestKilledDownloads fetches into a cache on disk with a window
// of killConnections+2 parts of killPart bytes: what it may lose when it dies.
const (
	killFolder      = "MLEFLOW_TEST_KILL_CACHE"
	killConnections = 2
	killPart        = 1 << 10
	killWindow      = (killConnections + 2) * killPart
)

// TestKilledChild is the child; by itself it has nothing to do.
func TestKilledChild(t *testing.T) {
	folder := os.Getenv(killFolder)
	if folder == "" {
		return
	}
	c, err := disk.Open(folder, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP(nil, Connections(killConnections))
	h.wait, h.smallest, h.largest = time.Millisecond, killPart, killPart
	resumed := int64(-1)
	data, err := NewKaggle(h).Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: c, Progress: func(done, _ int64) {
		if resumed < 0 {
			resumed = done
		}
	}})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("done %s %s\n", data.Ref.ID, data.MD5)
}

// TestKilledDownloads kills a download with SIGKILL again and again, each time
// at another byte. Every restart must go on; in the end the bytes are right,
// and little was sent twice.
func TestKilledDownloads(t *testing.T) {
	t.Parallel()
	const (
		kills = 40
		size  = 10<<20 + 12345
	)
	srv := kaggletest.New(nil)
	defer srv.Close()
	o := kaggletest.NewObject(1, size)
	srv.Add(kaggletest.Competition{Slug: "toy", Archive: o})
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func() (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(self, "-test.run=^TestKilledChild$") //nolint:gosec // ourselves
		cmd.Env = append(os.Environ(), killFolder+"="+folder, "KAGGLE_API_ENDPOINT="+srv.Endpoint, "KAGGLE_API_TOKEN="+kaggletest.Token)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &out
	}
	begin := time.Now()
	for i := range kills {
		at := srv.Stats().Sent.Load() + size/(kills+10) - int64(i*37%1000)
		cmd, out := start()
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		waitSent(t, srv, at, exited, out)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		if err := <-exited; err == nil {
			t.Fatalf("the child ended before kill %d: %s", i, out)
		}
	}
	cmd, out := start()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the last child: %v: %s", err, out)
	}
	sent := srv.Stats().Sent.Load()
	t.Logf("%d kills in %v: %d bytes sent for %d: %.2f %% twice, %d a kill", kills, time.Since(begin).Round(time.Millisecond),
		sent, size, 100*float64(sent-size)/size, (sent-size)/kills)
	if want := fmt.Sprintf("done %s %s\n", digest.Of(o.Data), md5Hex(o.Data)); !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %q, want %q", out, want)
	}
	if most := int64(kills * (killWindow + 2)); sent-size > most {
		t.Errorf("%d bytes sent twice, more than the %d that the processes held", sent-size, most)
	}
	if 50*(sent-size) > size {
		t.Errorf("%d of %d bytes sent twice, want less than 2 %%", sent-size, size)
	}
	if n := srv.Stats().Leaks.Load(); n > 0 {
		t.Errorf("%d credentials sent to the storage", n)
	}
}

// waitSent waits until the server has sent so much.
func waitSent(t *testing.T, srv *kaggletest.Server, at int64, exited <-chan error, out *bytes.Buffer) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for srv.Stats().Sent.Load() < at {
		select {
		case <-tick.C:
		case err := <-exited:
			t.Fatalf("the child ended early: %v: %s", err, out)
		case <-deadline:
			t.Fatal("the child does not get on")
		}
	}
}
