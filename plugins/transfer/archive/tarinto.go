package archive

import (
	"io"
	"strings"
)

// tar unpacks a tar file: one goroutine reads it from beginning to end while
// others hash and store the bytes.
func (u *unpacker) tar(format Format) error {
	return walkTar(u.ctx, u.src, format, u.guard, func(index int64, e Entry, r io.Reader) error {
		switch {
		case e.Folder:
			return u.folder(e.Name)
		case u.done.has(index):
			return nil
		}
		return u.put(index, e, r, u.do)
	})
}

// put stores an entry: a small one is read at once and stored by do, which may pass it to the
// workers; a large one is stored while it is read.
func (u *unpacker) put(index int64, e Entry, r io.Reader, do func(task func() error) error) error {
	if e.Size > smallEntry {
		return u.putStream(index, e, r)
	}
	buf := smallBuffers.Get().(*smallBuffer)
	if err := readWhole(r, buf[:e.Size]); err != nil {
		return err
	}
	return do(func() error {
		defer smallBuffers.Put(buf)
		return u.putBytes(index, e, buf[:e.Size])
	})
}

// readWhole fills buf from r, which must then end.
func readWhole(r io.Reader, buf []byte) error {
	if _, err := io.ReadFull(r, buf); err != nil {
		return err
	}
	var one [1]byte
	if _, err := io.ReadFull(r, one[:]); err != io.EOF {
		return err
	}
	return nil
}

// emptyFile stores an entry without bytes.
func (u *unpacker) emptyFile(index int64, e Entry) error {
	if e.Folder {
		return u.folder(e.Name)
	}
	if u.done.has(index) {
		return nil
	}
	return u.put(index, e, strings.NewReader(""), u.do)
}
