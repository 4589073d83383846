package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// Status is the outcome of a check.
type Status string

// The outcomes. Only Missing makes a machine unfit; Absent is something that
// some pipelines need and others do not.
const (
	OK      Status = "ok"
	Warn    Status = "warning"
	Absent  Status = "absent"
	Missing Status = "missing"
)

// Check is one finding.
type Check struct {
	// Section groups checks: machine, cache, agents, accounts, pipeline, cluster, or shared.
	Section string `json:"section,omitempty"`
	// Name is what was looked at, in a word or two.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Fix says how to get what is missing.
	Fix string `json:"fix,omitempty"`
	// Example is what the fix looks like where it takes lines of a file.
	Example string `json:"example,omitempty"`
}

// Machine says where to look. Root and Home let tests look at a made-up
// machine.
type Machine struct {
	// Root is the root of the file system.
	Root string
	// Home is the user's home directory.
	Home string
	// Env returns an environment variable.
	Env func(string) string
	// CacheDir is the folder of the cache; it need not exist.
	CacheDir string
	// Folder is the folder of the pipeline that is looked at, whose programs are not run;
	// "" is none.
	Folder string
	// UID is the user that mleflow runs as.
	UID int
	// Sandbox tries the runtime sandbox: it runs a command in it that does
	// nothing.
	Sandbox func() executor.Availability
	// Refused lists the system calls that make a sandbox and that a filter around
	// this process refuses.
	Refused func() []string
}

// Examine runs all checks in the order people should read them.
func (m Machine) Examine(ctx context.Context) []Check {
	checks := In("machine", m.processors(), m.memory(), m.temporary())
	checks = append(checks, In("cache", append([]Check{m.disk()}, m.cacheFolder()...)...)...)
	agents := []Check{noAgents}
	if runtime.GOOS == "linux" {
		agents = append(m.runtimes(ctx), m.gpus(ctx), m.cdi())
	}
	return slices.Concat(checks, In("agents", append(agents, m.reach(ctx))...), In("accounts", m.kaggle()))
}

// In puts checks into a section.
func In(section string, checks ...Check) []Check {
	for i := range checks {
		checks[i].Section = section
	}
	return checks
}

// noAgents stands for all that agents need, where they cannot run.
var noAgents = Check{
	Name: "agents", Status: Absent, Detail: "agents and exec steps run on Linux only; downloads, preparation, grading, boards and reports work here",
	Fix: "run pipelines with agents in a Linux virtual machine or container",
}

// but returns the check with a status, an addition to its detail, and a fix.
func (c Check) but(s Status, more, fix string) Check {
	c.Status, c.Detail, c.Fix = s, c.Detail+more, fix
	return c
}

// Verdict is the conclusion from checks. ok is false if something is missing that every
// pipeline needs, or that the pipeline that was looked at needs.
func Verdict(checks []Check) (text string, ok bool) {
	var missing, warned []string
	for _, c := range checks {
		switch c.Status {
		case Missing:
			missing = append(missing, c.Name)
		case Warn:
			warned = append(warned, c.Name)
		}
	}
	text = "ready"
	if missing = slices.Compact(missing); len(missing) > 0 {
		text = "NOT ready, for lack of: " + strings.Join(missing, ", ")
	}
	if warned = slices.Compact(warned); len(warned) > 0 {
		text += "; with limits: " + strings.Join(warned, ", ")
	}
	return text, len(missing) == 0
}

func (m Machine) path(p string) string { return filepath.Join(m.Root, p) }

const gib = 1 << 30

// scheduled is how the scheduler looks at the machine: what is shown is what
// steps can lease.
func (m Machine) scheduled() sched.Probe { return sched.NewProbe(m.Root) }

func (m Machine) processors() Check {
	n := runtime.NumCPU()
	c := Check{Name: "processors", Status: OK, Detail: fmt.Sprintf("%d usable", n)}
	if limit := m.scheduled().Capacity().CPUs; limit > 0 && limit < float64(n) {
		c.Detail += fmt.Sprintf(", limited to %g by the control group or GOMAXPROCS", limit)
	}
	return c
}

func (m Machine) memory() Check {
	total, limit := m.scheduled().Unlimited().MemoryBytes, m.scheduled().Capacity().MemoryBytes
	if limit == 0 {
		return Check{Name: "memory", Status: Warn, Detail: "cannot be read on this system", Fix: "set resources { memory = … } in the pipeline yourself"}
	}
	c := Check{Name: "memory", Status: OK, Detail: view.Bytes(max(total, limit))}
	if available := min(m.availableMemory(), limit); available > 0 {
		c.Detail += ", " + view.Bytes(available) + " available"
	}
	if limit < total {
		c.Detail += ", limited to " + view.Bytes(limit) + " by the control group"
	}
	if limit < 2*gib {
		c.Status, c.Fix = Warn, "2 GiB are needed to prepare the larger competitions, 1 GiB for the demo: ask for a job with more memory"
	}
	return c
}

// availableMemory is what new processes can take now, 0 where that cannot be
// read. The scheduler does not look at it.
func (m Machine) availableMemory() int64 {
	for line := range strings.Lines(m.read("/proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// kaggle says where the credential is that a download uses.
func (m Machine) kaggle() Check {
	place, err := source.KaggleCredential(func(name string) string {
		if name == "HOME" {
			return m.Home
		}
		return m.Env(name)
	})
	if err != nil {
		return Check{Name: "Kaggle", Status: Absent, Detail: "no credentials", Fix: "needed to download competitions: " + err.Error()}
	}
	c := Check{Name: "Kaggle", Status: OK, Detail: "credentials in " + place}
	if info, err := os.Stat(place); err == nil && info.Mode().Perm()&0o077 != 0 {
		return c.but(Warn, fmt.Sprintf(", which others may read (mode %04o)", info.Mode().Perm()), "chmod 600 "+place)
	}
	return c
}

// cacheFolder checks the cache's folder, and tries what its file system can do.
func (m Machine) cacheFolder() []Check {
	c := Check{Name: "cache folder", Status: OK, Detail: m.CacheDir}
	list, err := disk.Abilities(m.existing())
	if err != nil {
		c = c.but(Missing, fmt.Sprintf(" cannot be written: %v", errors.Unwrap(err)), "choose a folder you may write with --cache-dir or MLEFLOW_CACHE_DIR")
	} else if _, err := os.Stat(m.CacheDir); errors.Is(err, os.ErrNotExist) {
		c.Detail += " (not created yet)"
	}
	if kind := m.fileSystem(m.existing()); c.Status == OK && networked.MatchString(kind) {
		c = c.but(Warn, fmt.Sprintf(", on %s: only one machine at a time may use this cache, since machines do not see each other's mapped memory", kind),
			"put the cache on a local disk, and share results of several machines by a remote cache (docs/remote.md)")
	}
	checks := []Check{c}
	for _, a := range list {
		c := Check{Name: a.Name, Status: OK, Detail: a.Use}
		switch {
		case a.Fatal():
			c = c.but(Missing, fmt.Sprintf(": no (%v)", a.Err), a.Fix+"; or choose another folder with --cache-dir")
		case a.Err != nil && a.Minor:
			c.Detail += fmt.Sprintf(": no (%v), %s", a.Err, a.Instead)
		case a.Err != nil:
			c = c.but(Warn, fmt.Sprintf(": no (%v), %s", a.Err, a.Instead), a.Fix)
		}
		checks = append(checks, c)
	}
	return checks
}

// NoExec says why no program can be started in the cache's folder, and what to do, or "".
func (m Machine) NoExec() string {
	list, err := disk.Abilities(m.existing(), "programs")
	if err != nil || list[0].Err == nil {
		return ""
	}
	return fmt.Sprintf("the disk of the cache, %s, is mounted noexec; %s", m.existing(), list[0].Fix)
}

// networked are the names of file systems that several machines may have mounted.
var networked = regexp.MustCompile(`^(nfs|cifs|smb|lustre|beegfs|gpfs|ceph|afs|9p|glusterfs|fuse\.(sshfs|glusterfs|ceph|juicefs|s3|gcs))`)

// fileSystem names the file system of a folder as mount does, "" if it is not found.
func (m Machine) fileSystem(dir string) (kind string) {
	longest := ""
	for line := range strings.Lines(m.read("/proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); len(f) > 4 && len(f[4]) >= len(longest) && strings.HasPrefix(dir+"/", strings.TrimSuffix(f[4], "/")+"/") {
			longest = f[4]
			kind, _, _ = strings.Cut(after, " ")
		}
	}
	return kind
}

// TempDir is the absolute path of a folder for temporary files that can be written to:
// that of the name, else a usual one; "" if there is none.
func TempDir(named string) string {
	for _, dir := range []string{named, "/tmp", "/var/tmp", "/dev/shm"} {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if probe, err := os.MkdirTemp(dir, ".mleflow-"); err == nil {
			_ = os.Remove(probe)
			return dir
		}
	}
	return ""
}

func (m Machine) temporary() Check {
	named := cmp.Or(m.Env("TMPDIR"), "/tmp")
	c := Check{Name: "temporary files"}
	switch dir := TempDir(named); dir {
	case named:
		return c.but(OK, named, "")
	case "":
		return c.but(Missing, named+" cannot be written to, nor can another usual folder", "set TMPDIR to a folder that you may write to")
	default:
		more := fmt.Sprintf("%q, given by TMPDIR, is no folder's absolute path that can be written to: they go to %s", named, dir)
		return c.but(Warn, more, "set TMPDIR to such a folder, or unset it")
	}
}

// existing returns the cache folder or the nearest thing above it that
// exists, which should be a folder.
func (m Machine) existing() string {
	for dir := m.CacheDir; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func (m Machine) disk() Check {
	space, err := sched.DiskSpace(m.existing())
	if err != nil {
		return Check{Name: "disk", Status: Warn, Detail: fmt.Sprintf("free space is not known: %v", err)}
	}
	c := Check{Name: "disk", Status: OK, Detail: fmt.Sprintf("%s free of %s", view.Bytes(space.FreeBytes), view.Bytes(space.Bytes))}
	switch {
	case space.FreeBytes < 1<<28:
		c.Status, c.Fix = Missing, "free at least 0.25 GiB, or put the cache on another disk with --cache-dir"
	case space.Files > 0 && space.FreeFiles < 10_000:
		c = c.but(Warn, fmt.Sprintf(", but inodes for %d more files only", space.FreeFiles), "remove files, or put the cache on a disk with more inodes (df -i)")
	case space.FreeBytes < 400*gib:
		c.Fix = "the low-complexity competitions take about 160 GiB unpacked, all 75 about 3.3 TB"
	}
	return c
}
