package confined

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confine sets the limits of this process. The kernel counts as data what may
// be written and is shared with nobody, which is Go's heap and little else; of
// the addresses that Go sets aside without using them (RLIMIT_AS) it would
// count those too.
func (l limits) confine() error {
	// If memory runs out before that, the kernel should kill this process.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGXCPU)
	go func() {
		<-ends
		os.Exit(exitTime)
	}()
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	for what, most := range map[int][2]uint64{
		unix.RLIMIT_DATA: {uint64(l.Memory), uint64(l.Memory)},
		unix.RLIMIT_CPU:  {seconds, seconds + 5},
		unix.RLIMIT_CORE: {0, 0},
	} {
		var have unix.Rlimit
		if err := unix.Getrlimit(what, &have); err != nil {
			return fmt.Errorf("limit this process: %w", err)
		}
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: min(most[0], have.Max), Max: min(most[1], have.Max)}); err != nil {
			return fmt.Errorf("limit this process: %w", err)
		}
	}
	return nil
}
