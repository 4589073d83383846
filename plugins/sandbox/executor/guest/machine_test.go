package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a guest with two processors and 1 GiB sees of files of a machine with four.
func TestMachine(t *testing.T) {
	const (
		cpus = "processor\t: 0\nmodel name\t: A: B\n\nprocessor\t: 1\nmodel name\t: A\n\nprocessor\t: 2\n\nprocessor\t: 12\n\nHardware\t: board\n"
		stat = "cpu  10 20 30\ncpu0 1 2 3\ncpu1 2 3 4\ncpu2 3 4 5\ncpu12 4 5 6\nintr 5 0\nbtime 7\n"
		mem  = "MemTotal:        8388608 kB\nMemFree:         2097152 kB\nMemAvailable:     262144 kB\nCached:           12 kB\nSwapTotal:        100 kB\nVmallocTotal:   34359738367 kB\nHugePages_Total:       9\n"
	)
	two := Machine{CPUs: []int{1, 2}, MemoryBytes: 1 << 30}
	far := Machine{CPUs: []int{0, 12}}
	for _, tt := range []struct {
		name, file, text string
		plan             Machine
		held             int64
		want             string
	}{
		{"processors", "/proc/cpuinfo", cpus, two, 0, "processor\t: 1\nmodel name\t: A\n\nprocessor\t: 2\n\nHardware\t: board\n"},
		{"processors of no limit", "/proc/cpuinfo", cpus, Machine{}, 0, cpus},
		{"times", "/proc/stat", stat, two, 0, "cpu  5 7 9\ncpu1 2 3 4\ncpu2 3 4 5\nintr 5 0\nbtime 7\n"},
		{"times of no limit", "/proc/stat", stat, Machine{}, 0, stat},
		{"memory", "/proc/meminfo", mem, two, 900 << 20, "MemTotal:        1048576 kB\nMemFree:          126976 kB\nMemAvailable:     126976 kB\nCached:               12 kB\nSwapTotal:             0 kB\nVmallocTotal:   34359738367 kB\nHugePages_Total:       9\n"},
		{"memory over the limit", "/proc/meminfo", "MemFree: 9 kB\n", two, 2 << 30, "MemFree:               0 kB\n"},
		{"memory of no limit", "/proc/meminfo", mem, far, 5, mem},
		{"two", "/sys/devices/system/cpu/online", "0-3,12\n", two, 0, "1,2\n"},
		{"a list", "/sys/devices/system/cpu/possible", "0-3,12\n", far, 0, "0,12\n"},
		{"one", "/sys/devices/system/cpu/present", "0-3,12\n", Machine{CPUs: []int{3}}, 0, "3\n"},
		{"all", "/sys/devices/system/cpu/present", "0-3,12\n", Machine{}, 0, "0-3,12\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(tt.plan.Show(tt.file, []byte(tt.text), tt.held))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
