package sandbox

import (
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// view is a file of the kernel that describes the machine, with the file that the guest
// sees in its place.
type view struct{ source, shown *os.File }

// machine mounts the views. A file that the kernel does not have does not exist in the
// guest either.
func (w *world) machine() error {
	w.viewed = map[string]view{}
	for _, name := range executor.MachineFiles {
		source, err := os.Open(name)
		if err != nil {
			continue
		}
		shown, err := os.OpenFile(path.Join(textsAt, strings.ReplaceAll(name, "/", "-")), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		w.viewed[name] = view{source, shown}
		if err := w.viewed[name].show(name, w.plan.View, 0); err != nil {
			return err
		}
		if err := w.mountAt(shown, name, true, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	return nil
}

// show updates the content that the guest sees.
func (v view) show(name string, plan executor.Machine, held int64) error {
	text, err := io.ReadAll(io.NewSectionReader(v.source, 0, 64<<20))
	if err != nil {
		return &os.PathError{Op: "read", Path: name, Err: err}
	}
	out := []byte(plan.Show(name, string(text), held))
	if _, err := v.shown.WriteAt(out, 0); err != nil {
		return err
	}
	return v.shown.Truncate(int64(len(out)))
}

// refresh updates the files that change.
func (s *sandbox) refresh() {
	for _, name := range []string{"/proc/stat", "/proc/meminfo"} {
		if v, ok := s.viewed[name]; ok {
			_ = v.show(name, s.plan.View, s.held)
		}
	}
}
