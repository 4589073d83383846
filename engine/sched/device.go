package sched

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/nolink"
)

// GPUs returns the names of the machine's GPUs, in order. They are the numbered
// devices in the specifications of the Container Device Interface (CDI), as in
// "nvidia.com/gpu=0". Without specifications, the device files of NVIDIA's
// driver are used under the same names. Other names in a specification (the
// UUID, "all") are ignored, because a device must have a single name to be
// leased only once. Of a divided GPU (MIG), the slices are listed, as in
// "nvidia.com/gpu=0:1". The whole GPU is not, because it cannot compute.
func (p Probe) GPUs() []string {
	names := p.cdi()
	if len(names) == 0 {
		names = p.nodes()
	}
	slices.SortFunc(names, compareDevices)
	names = slices.Compact(names)
	divided := map[string]bool{}
	for _, name := range names {
		if whole := wholeOf(name); whole != name {
			divided[whole] = true
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return divided[name] })
}

// DevicesVariable names the environment variable with the devices to lease. By
// default, all devices found are leased.
const DevicesVariable = "MLEFLOW_DEVICES"

// ChooseDevices returns the devices to lease. If text, the value of
// DevicesVariable, is empty, these are all devices found. Otherwise text is
// "none" or a comma-separated list. An element is a device or slice with its
// number ("nvidia.com/gpu=0", "nvidia.com/gpu=1:0"), or a kind, which stands
// for all devices of the kind that were found. A numbered device need not have
// been found: its driver may not have described it.
func ChooseDevices(text string, found []string) ([]string, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return found, nil
	case "none":
		return nil, nil
	}
	var names []string
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		kind, number, named := strings.Cut(word, "=")
		switch {
		case !strings.Contains(kind, "/"), named && !numbered.Regexp().MatchString(number):
			return nil, fmt.Errorf("%q is not a device such as nvidia.com/gpu=0, a slice such as nvidia.com/gpu=0:1, a kind or \"none\"", word)
		case named:
			names = append(names, word)
			continue
		}
		before := len(names)
		for _, device := range found {
			if strings.HasPrefix(device, kind+"=") {
				names = append(names, device)
			}
		}
		if len(names) == before {
			return nil, fmt.Errorf("no device of kind %q was found", kind)
		}
	}
	slices.SortFunc(names, compareDevices)
	names = slices.Compact(names)
	for _, name := range names {
		if whole := wholeOf(name); whole != name && slices.Contains(names, whole) {
			return nil, fmt.Errorf("%s is a slice of %s; name either the device or its slices", name, whole)
		}
	}
	return names, nil
}

// Models returns the models of devices in NVIDIA's words, in lower case with dashes and
// each once: "nvidia-h100-80gb-hbm3". Of a slice it is that of the whole GPU, with the
// ending "-slice". A device that the driver does not describe is "unknown".
func (p Probe) Models(devices []string) string {
	if len(devices) == 0 {
		return ""
	}
	known := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(p.Root, "proc/driver/nvidia/gpus/*/information"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		known["nvidia.com/gpu="+fields["Device Minor"]] = strings.ToLower(strings.Join(strings.FieldsFunc(fields["Model"], notInModel), "-"))
	}
	var models []string
	for _, device := range devices {
		whole := wholeOf(device)
		model := cmp.Or(known[whole], "unknown")
		if whole != device {
			model += "-slice"
		}
		models = append(models, model)
	}
	slices.Sort(models)
	return strings.Join(slices.Compact(models), "+")
}

func notInModel(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func (p Probe) nodes() []string {
	var names []string
	found, _ := filepath.Glob(filepath.Join(p.Root, "dev/nvidia[0-9]*"))
	for _, f := range found {
		if n := strings.TrimPrefix(filepath.Base(f), "nvidia"); numbered.Regexp().MatchString(n) {
			names = append(names, "nvidia.com/gpu="+n)
		}
	}
	return names
}

// numbered matches the index of a device, or the indexes of a device and its
// slice.
var numbered = pattern.New(`^\d+(:\d+)?$`)

func (p Probe) cdi() []string {
	var names []string
	for _, dir := range []string{"etc/cdi", "var/run/cdi"} {
		for _, pattern := range []string{"*.json", "*.yaml", "*.yml"} {
			found, _ := filepath.Glob(filepath.Join(p.Root, dir, pattern))
			for _, f := range found {
				kind, devices := readCDI(f)
				if !strings.HasSuffix(kind, "/gpu") {
					continue
				}
				for _, d := range devices {
					if numbered.Regexp().MatchString(d) {
						names = append(names, kind+"="+d)
					}
				}
			}
		}
	}
	return names
}

// readCDI returns the kind and the device names of a specification, or nothing
// if it cannot be read.
func readCDI(name string) (kind string, devices []string) {
	var spec struct {
		Kind    string `json:"kind"`
		Devices []struct {
			Name string `json:"name"`
		} `json:"devices"`
	}
	text, err := os.ReadFile(name)
	if err != nil || yaml.Unmarshal(text, &spec) != nil { // JSON is YAML
		return "", nil
	}
	for _, d := range spec.Devices {
		devices = append(devices, d.Name)
	}
	return spec.Kind, devices
}

// compareDevices orders names by kind, then by number.
func compareDevices(a, b string) int {
	ka, na, _ := strings.Cut(a, "=")
	kb, nb, _ := strings.Cut(b, "=")
	return cmp.Or(strings.Compare(ka, kb), slices.Compare(numbers(na), numbers(nb)))
}

func numbers(s string) []int {
	var out []int
	for p := range strings.SplitSeq(s, ":") {
		n, _ := strconv.Atoi(p)
		out = append(out, n)
	}
	return out
}

// DeviceLocks is a table of devices that the processes of a machine share: a
// folder with one file per device, which is locked while the device is leased.
// A slice of a device also takes a shared lock on the file of the whole device,
// so that nobody can lease the whole at the same time.
type DeviceLocks struct {
	mu    sync.Mutex
	files map[string]lockFiles
	held  map[string]bool
}

// lockFiles are the open files of a device. whole is nil unless it is a slice.
type lockFiles struct{ own, whole *os.File }

func (f lockFiles) close() {
	for _, file := range []*os.File{f.own, f.whole} {
		if file != nil {
			file.Close()
		}
	}
}

// LeasesVariable names the environment variable with the folder of the
// machine's table of leases.
const LeasesVariable = "MLEFLOW_LEASES"

// LeasesDir returns the folder of the table that all processes of the machine
// share, regardless of user, cache and TMPDIR: the value of LeasesVariable, or
// /run/lock/mleflow where it exists or every user can make it, or a folder in
// /tmp. env looks up a variable.
func LeasesDir(env func(string) string) string {
	return cmp.Or(env(LeasesVariable), leasesIn("/run/lock", "/tmp"))
}

// leasesIn chooses by what is the same for all users, and so for root: on some systems
// only root may write to /run/lock.
func leasesIn(lock, tmp string) string {
	dir := filepath.Join(lock, "mleflow")
	above, err := os.Stat(lock)
	if err == nil && above.IsDir() && above.Mode().Perm()&0o002 != 0 {
		return dir
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return filepath.Join(tmp, "mleflow-leases")
}

// OpenDeviceLocks opens the table in a folder for the given devices. It creates
// the folder if necessary. Processes respect each other's leases only if they
// use the same folder.
func OpenDeviceLocks(dir string, devices []string) (*DeviceLocks, error) {
	l := &DeviceLocks{files: map[string]lockFiles{}, held: map[string]bool{}}
	if err := makeShared(dir); err != nil {
		return nil, fmt.Errorf("open device locks: %w", err)
	}
	dir = nolink.Folder(dir)
	for _, name := range devices {
		f, err := openLocks(dir, name)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("open device locks: %w", err)
		}
		l.files[name] = f
	}
	return l, nil
}

// makeShared creates a folder, and those above it, in which every user may create files,
// whatever the umask.
func makeShared(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := makeShared(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil // another process has just made it
		}
		return err
	}
	return os.Chmod(dir, 0o777|fs.ModeSticky)
}

func openLocks(dir, name string) (f lockFiles, err error) {
	if f.own, err = openLock(filepath.Join(dir, lockName(name))); err != nil {
		return f, err
	}
	if whole := wholeOf(name); whole != name {
		if f.whole, err = openLock(filepath.Join(dir, lockName(whole))); err != nil {
			f.close()
		}
	}
	return f, err
}

// wholeOf returns the device to which a slice belongs. It returns other devices
// unchanged.
func wholeOf(name string) string {
	kind, number, _ := strings.Cut(name, "=")
	if gpu, _, sliced := strings.Cut(number, ":"); sliced {
		return kind + "=" + gpu
	}
	return name
}

// lockMode lets every user lock a device, whatever the umask.
const lockMode fs.FileMode = 0o666

// openLock opens a lock file, which may belong to another user. Read access
// suffices for locking.
func openLock(path string) (*os.File, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, lockMode)
	for n := 0; n < 20 && errors.Is(err, fs.ErrPermission); n++ {
		if f, err = nolink.Open(path); err != nil { // another user may just be making it
			time.Sleep(5 * time.Millisecond)
		}
	}
	if err != nil {
		return nil, nolink.Closed(err, path, "chmod a+rwX")
	}
	if info, err := f.Stat(); err == nil && info.Mode().Perm() != lockMode {
		_ = f.Chmod(lockMode) // by its owner
	}
	return f, nil
}

// lockName converts the name of a device to a unique file name.
func lockName(device string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", ":", "%3a").Replace(device) + ".lock"
}

// Close releases all locks of this process.
func (l *DeviceLocks) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		f.close()
	}
	clear(l.files)
}

// missing returns a device that is not in the table, or "".
func (l *DeviceLocks) missing(devices []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range devices {
		if l.files[name].own == nil {
			return name
		}
	}
	return ""
}

// try locks a device unless this or another process has locked it.
func (l *DeviceLocks) try(name string) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[name]
	if f.own == nil || l.held[name] {
		return nil, false
	}
	if ok, err := flock.Try(f.own); !ok || err != nil {
		return nil, false
	}
	if f.whole != nil {
		if ok, err := flock.TryShared(f.whole); !ok || err != nil {
			_ = flock.Unlock(f.own)
			return nil, false
		}
	}
	l.held[name] = true
	return func() { l.unlock(name) }, true
}

func (l *DeviceLocks) unlock(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
	// Unlocking fails only if the file is closed, which also unlocks it.
	for _, f := range []*os.File{l.files[name].whole, l.files[name].own} {
		if f != nil {
			_ = flock.Unlock(f)
		}
	}
}
