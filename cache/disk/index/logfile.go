package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
)

// logView is the bytes of the index log. They are mapped into memory, so that a
// large log takes no memory until it is read, or read into memory where mapping
// fails.
type logView struct {
	file   *os.File
	data   []byte // data[:size] may be read
	size   int64
	mapped bool
}

// openView opens the log at path. The view is nil if there is no log.
func openView(path string, readOnly bool) (*logView, error) {
	flags := os.O_RDWR | os.O_APPEND
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := nolink.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &logView{file: f}
	return v, v.grow()
}

// current reports whether path still names the viewed file.
func (v *logView) current(path string) (bool, error) {
	if v == nil {
		return false, nil
	}
	return nolink.IsAt(v.file, path)
}

// grow makes appended bytes visible. The file never shrinks.
func (v *logView) grow() error {
	info, err := v.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size < v.size {
		return fmt.Errorf("read %s: it shrank from %d to %d bytes; another program must have written to it", v.file.Name(), v.size, size)
	}
	if size > int64(len(v.data)) {
		if err := v.remap(size); err != nil {
			return err
		}
	}
	v.size = size
	return nil
}

// remap makes at least size bytes addressable. The mapping is larger than the
// file, so that it rarely has to be replaced. The part after the end of the
// file is not touched before the file has grown there.
func (v *logView) remap(size int64) error {
	space := max(2*size, 1<<20)
	data, err := unix.Mmap(int(v.file.Fd()), 0, int(space), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		v.unmap()
		v.data, v.mapped = data, true
		return nil
	}
	grown := make([]byte, size)
	if _, err := v.file.ReadAt(grown, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", v.file.Name(), err)
	}
	v.unmap()
	v.data, v.mapped = grown, false
	return nil
}

func (v *logView) unmap() {
	if v.mapped {
		_ = unix.Munmap(v.data)
	}
	v.data, v.mapped = nil, false
}

// bytes returns the visible bytes.
func (v *logView) bytes() []byte {
	if v == nil {
		return nil
	}
	return v.data[:v.size]
}

func (v *logView) close() error {
	if v == nil {
		return nil
	}
	v.unmap()
	v.size = 0
	return v.file.Close()
}
