package archive

// zip unpacks a zip file.
func (u *unpacker) zip() error {
	dir, err := openZip(u.src, u.guard)
	if err != nil {
		return err
	}
	u.list()
	return dir.each(func(h *zipHeader) error {
		switch {
		case h.Folder:
			return u.folder(h.Name)
		case u.done.has(h.index):
			return nil
		}
		return u.do(func() error { return u.zipEntry(h) })
	})
}

// zipEntry unpacks an entry, a small one in memory.
func (u *unpacker) zipEntry(h *zipHeader) error {
	r, err := h.openStream(u.src)
	if err != nil {
		return err
	}
	defer r.Close()
	if h.Size > smallEntry {
		return u.putStream(h.index, h.Entry, r)
	}
	buf := smallBuffers.Get().(*smallBuffer)
	defer smallBuffers.Put(buf)
	if err := readWhole(r, buf[:h.Size]); err != nil {
		return err
	}
	return u.putBytes(h.index, h.Entry, buf[:h.Size])
}
