package containerd

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// TestPause compares the machine code with what Go's assembler makes of the
// instructions in the comments (go tool asm and objdump of Go 1.26), and reads
// the file as the kernel would. That it works is seen by every other test.
func TestPause(t *testing.T) {
	want := map[string]string{
		"amd64": "b80d000000bf11000000488d351700000031d241ba080000000f05b8220000000f05ebf7",
		"arm64": "c81080d2200280d281010010e2031faae3037db2010000d4280980d2e0031faae1031faae2031faae3031faae4031faa010000d4f9ffff17",
	}
	for arch, code := range want {
		text, err := pauseELF(arch)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Progs) != 1 || f.Progs[0].Filesz != uint64(len(text)) || f.Entry != f.Progs[0].Vaddr+120 {
			t.Errorf("%s: %+v, entry %x, %d bytes", arch, f.Progs, f.Entry, len(text))
		}
		if got := hex.EncodeToString(text[120 : 120+len(code)/2]); got != code {
			t.Errorf("%s: got  %s\nwant %s", arch, got, code)
		}
		if act := text[len(text)-32:]; act[0] != 1 || bytes.Count(act, []byte{0}) != 31 {
			t.Errorf("%s: act %x", arch, act)
		}
	}
	if _, err := pauseELF("mips"); err == nil {
		t.Error("a pause for mips")
	}
}

func TestUsage(t *testing.T) {
	for data, now := range map[any]int64{
		&cgroup1.Metrics{
			CPU:              &cgroup1.CPUStat{Usage: &cgroup1.CPUUsage{Total: 3e9}},
			Memory:           &cgroup1.MemoryStat{Usage: &cgroup1.MemoryEntry{Max: 100, Usage: 50}},
			MemoryOomControl: &cgroup1.MemoryOomControl{OomKill: 2},
		}: 50,
		&cgroup2.Metrics{
			CPU:          &cgroup2.CPUStat{UsageUsec: 3e6},
			Memory:       &cgroup2.MemoryStat{MaxUsage: 100, Usage: 50},
			MemoryEvents: &cgroup2.MemoryEvents{OomKill: 2},
		}: 50,
		&cgroup2.Metrics{ // a kernel that does not keep the peak
			CPU:          &cgroup2.CPUStat{UsageUsec: 3e6},
			Memory:       &cgroup2.MemoryStat{Usage: 100},
			MemoryEvents: &cgroup2.MemoryEvents{OomKill: 2},
		}: 100,
	} {
		want := usage{cpu: 3 * time.Second, peak: 100, now: now, oomKills: 2}
		if got, err := usageOf(data); err != nil || got != want {
			t.Errorf("%T: %+v, %v, want %+v", data, got, err, want)
		}
	}
	if _, err := usageOf("nonsense"); err == nil {
		t.Error("metrics of no known type are taken")
	}
}

func TestProcessEnded(t *testing.T) {
	fields := strings.Fields(claim.Self())
	other := func(i int, text string) string {
		changed := append([]string(nil), fields...)
		changed[i] = text
		return strings.Join(changed, " ")
	}
	for _, tt := range []struct {
		what, name string
		want       bool
	}{
		{"this process", claim.Self(), false},
		{"its number with another start", other(3, "1"), true},
		{"before the machine was started", other(0, "another-boot"), true},
		{"in another process namespace", other(1, "pid:[1]"), false},
		{"no name", "", false},
	} {
		if got := claim.Ended(tt.name); got != tt.want {
			t.Errorf("%s: ended %v, want %v", tt.what, got, tt.want)
		}
	}
}
