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
		return u.do(func() error {
			r, err := h.openStream(u.src)
			if err != nil {
				return err
			}
			defer r.Close()
			return u.put(h.index, h.Entry, r, func(task func() error) error { return task() })
		})
	})
}
