package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// cgroupRoot is the mount point of cgroups of version 2.
const cgroupRoot = "/sys/fs/cgroup"

// group is a run's own cgroup, if this user can create one.
type group struct {
	dir string
	// controllers are the controllers that limit it.
	controllers []string
}

// delegated finds the nearest cgroup above this process in which this user can create
// others, and whose children have memory limits: that of a session of systemd, of a
// Slurm job, or of a pod. It returns "" if there is none.
func delegated(root, own string) string {
	for dir := filepath.Join(root, own); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		may := unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
		if err == nil && may && slices.Contains(strings.Fields(string(given)), "memory") {
			return dir
		}
	}
	return ""
}

// newGroup creates a cgroup with the limits below another one. It returns nil without
// an error if no cgroup can be created.
func newGroup(above, name string, l executor.Limits) (*group, error) {
	if above == "" {
		return nil, nil
	}
	given, err := os.ReadFile(filepath.Join(above, "cgroup.subtree_control"))
	if err != nil {
		return nil, err
	}
	g := &group{dir: filepath.Join(above, "mleflow-"+name), controllers: strings.Fields(string(given))}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil //nolint:nilerr // the permissions promised more
	}
	set := map[string]string{}
	if l.MemoryBytes > 0 {
		set["memory.max"] = strconv.FormatInt(l.MemoryBytes, 10)
	}
	if l.Processes > 0 && g.has("pids") {
		set["pids.max"] = strconv.Itoa(l.Processes + firstThreads)
	}
	if l.CPUs > 0 && g.has("cpu") {
		const period = 100_000
		set["cpu.max"] = fmt.Sprintf("%d %d", max(int64(l.CPUs*period), 1000), period)
	}
	var errs []error
	for file, value := range set {
		errs = append(errs, os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0o644))
	}
	if l.MemoryBytes > 0 { // if swap is counted
		if file := filepath.Join(g.dir, "memory.swap.max"); unix.Access(file, unix.W_OK) == nil {
			errs = append(errs, os.WriteFile(file, []byte("0"), 0o644))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(fmt.Errorf("limit the control group %s: %w", g.dir, err), os.Remove(g.dir))
	}
	return g, nil
}

// firstThreads is the number of threads that the first process may have, in addition to
// those of the command.
const firstThreads = 16

func (g *group) has(controller string) bool {
	return g != nil && slices.Contains(g.controllers, controller)
}

// number reads a counter, such as memory.peak, or the given line of a file with
// several.
func (g *group) number(file, line string) int64 {
	if g == nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		fields := strings.Fields(l)
		if line != "" && (len(fields) != 2 || fields[0] != line) || len(fields) == 0 {
			continue
		}
		n, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		return n
	}
	return 0
}

// busyGroup is the time to wait for a group that is empty but still busy.
const busyGroup = 10 * time.Second

// remove removes the group, which must be empty.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	for until := time.Now().Add(busyGroup); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Rmdir(g.dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("remove the control group %s: %w", g.dir, err)
		}
	}
}

// processors reserves as many processors of this machine as the limit allows, rounded
// up, that no other run in the folder has. They stay locked while the files are open.
// It returns none if there is no limit, or if too few processors are free. The kernel
// then schedules on all of them.
func processors(dir string, limit float64) (list []int, locks []*os.File) {
	want, all := int(math.Ceil(limit)), executor.Processors(math.MaxInt32)
	if want <= 0 || want >= len(all) || nolink.MkdirAll(dir, 0o700) != nil {
		return nil, nil
	}
	for _, n := range all {
		if len(list) == want {
			break
		}
		f, err := claim.Lock(filepath.Join(dir, strconv.Itoa(n)), 0o660)
		if err == nil {
			list, locks = append(list, n), append(locks, f)
		}
	}
	if len(list) == want {
		return list, locks
	}
	closeAll(locks)
	return nil, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
