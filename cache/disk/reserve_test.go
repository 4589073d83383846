package disk

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const reserveVariable = "MLEFLOW_TEST_CACHE_RESERVE"

// TestReserveChild is a process of TestReserveAcrossProcesses, and does
// nothing on its own: it reserves, uses a part, and then waits to be killed.
func TestReserveChild(t *testing.T) {
	spec := os.Getenv(reserveVariable)
	if spec == "" {
		return
	}
	var quota, bytes, written int64
	var dir string
	_, err := fmt.Sscan(spec, &quota, &bytes, &written, &dir)
	must(t, err)
	c := openTest(t, dir, Options{Quota: quota}, hooks{unnamed: true})
	_, err = c.Reserve(t.Context(), bytes)
	must(t, err)
	in, err := c.Ingest(t.Context(), "")
	must(t, err)
	_, err = in.Write(make([]byte, written))
	must(t, err)
	fmt.Println("reserved")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// startReserving starts a process that holds a reservation until kill.
func startReserving(t *testing.T, dir string, quota, bytes, written int64) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestReserveChild$")
	cmd.Env = append(os.Environ(), reserveVariable+"="+fmt.Sprint(quota, " ", bytes, " ", written, " ", dir))
	out, err := cmd.StdoutPipe()
	must(t, err)
	_, err = cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "reserved") {
		t.Fatalf("child said %q", line)
	}
	return func() {
		must(t, cmd.Process.Kill()) // kill -9
		_ = cmd.Wait()
	}
}

// A reservation counts for other processes, whether drawn or not, until its
// process ends, also when that is killed.
func TestReserveAcrossProcesses(t *testing.T) {
	const quota = 1 << 20
	dir := t.TempDir()
	c := openTest(t, dir, Options{Quota: quota}, hooks{unnamed: true})
	for _, written := range []int64{0, 100 << 10, 600 << 10} { // the last beyond the reservation
		kill := startReserving(t, dir, quota, 500<<10, written)
		taken := max(written, 500<<10)
		info := awaitProcesses(t, c, 2)
		if want := max(500<<10-written, 0); info.Reserved != want || info.Bytes != written || info.Processes != 2 {
			t.Errorf("info = %+v, want %d reserved and %d used by 2 processes", info, want, written)
		}
		_, err := c.Reserve(t.Context(), quota-taken+1)
		wantErr(t, err, cache.ErrQuota)
		release, err := c.Reserve(t.Context(), quota-taken)
		must(t, err)
		release()
		kill()
		release, err = c.Reserve(t.Context(), quota)
		must(t, err)
		release()
		wantCounted(t, c)
	}
}

// awaitProcesses returns the overview once n processes have the cache open: the
// lock of one that was killed goes when the last copy of its file does.
func awaitProcesses(t *testing.T, c *Cache, n int) Info {
	t.Helper()
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		info, err := c.Info(t.Context())
		must(t, err)
		if info.Processes == n || time.Now().After(until) {
			return info
		}
	}
}

// fakeSpace is a disk of a size, which holds nothing but a cache.
func fakeSpace(size int64) func(string) (int64, error) {
	return func(dir string) (int64, error) {
		used := int64(0)
		list, err := os.ReadDir(dir + "/objects")
		if err != nil {
			return 0, err
		}
		for _, shard := range list {
			files, err := os.ReadDir(dir + "/objects/" + shard.Name())
			if err != nil {
				return 0, err
			}
			for _, f := range files {
				if info, err := f.Info(); err == nil {
					used += info.Size()
				}
			}
		}
		return size - used, nil
	}
}

// The least recently used content makes space for a reservation, on the disk
// as in the quota; what cannot be had is refused before anything is evicted.
func TestReserveEvicts(t *testing.T) {
	for name, lack := range map[string]error{"quota": cache.ErrQuota, "disk": cache.ErrSpace} {
		t.Run(name, func(t *testing.T) {
			dir, clk := t.TempDir(), &clock{}
			h, opts := clk.hooks(), Options{}
			if lack == cache.ErrQuota {
				opts.Quota = 1_000_000
			} else {
				h.space = fakeSpace(1_000_000)
			}
			for i := range 8 {
				session(t, dir, opts, h, func(c *Cache) {
					record(t, c, fmt.Sprint(i), putText(t, c, fmt.Sprintf("%0*d", 100_000, i)))
				})
				clk.step()
			}
			session(t, dir, opts, h, func(c *Cache) {
				must(t, c.Pin(t.Context(), Pin{Name: "p", Actions: []digest.ActionID{actionOf("0")}}))
			})
			clk.step()
			session(t, dir, opts, h, func(c *Cache) {
				_, err := c.Reserve(t.Context(), 900_001)
				wantErr(t, err, lack)
				for i := range 8 {
					if rec, _, err := c.records.index.Get(actionOf(fmt.Sprint(i))); rec == nil || err != nil {
						t.Errorf("record %d was evicted in vain: %v", i, err)
					}
				}
				release, err := c.Reserve(t.Context(), 500_000)
				must(t, err)
				for i, want := range []bool{true, false, false, false, true, true, true, true} {
					if got := has(t, c, fmt.Sprint(i)); got != want {
						t.Errorf("record %d is there: %v, want %v", i, got, want)
					}
				}
				// What it drew is on the disk, and needs no more space.
				putText(t, c, strings.Repeat("x", 300_000))
				_, err = c.Reserve(t.Context(), 1_000)
				wantErr(t, err, lack) // what was looked up is in use now
				release()
				must2(c.Reserve(t.Context(), 200_000))(t)()
				wantCounted(t, c)
				wantVerified(t, c)
			})
		})
	}
}

func must2[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// The real disk is asked, too.
func TestReserveSpace(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	_, err := c.Reserve(t.Context(), 1<<60)
	wantErr(t, err, cache.ErrSpace)
	if !strings.Contains(err.Error(), c.Dir()) {
		t.Errorf("the error does not say which disk: %v", err)
	}
	release, err := c.Reserve(t.Context(), 1<<20)
	must(t, err)
	info, err := c.Info(t.Context())
	must(t, err)
	if info.DiskFree <= 0 || info.Reserved != 1<<20 {
		t.Errorf("info = %+v", info)
	}
	release()
	wantCounted(t, c)
	c = openTest(t, c.Dir(), Options{ReadOnly: true}, hooks{unnamed: true})
	_, err = c.Reserve(t.Context(), 1)
	wantErr(t, err, cache.ErrReadOnly)
}
