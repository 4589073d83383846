package index

import "bytes"

// Repair rewrites the log if it has bytes that belong to no frame, unless it is
// only read. It returns the number of bytes of frames that were not written whole,
// and that of damaged bytes, also with an error. What a killed writer left of a
// frame is no damage: nothing that was recorded is lost.
func (ix *Index) Repair() (unfinished, bad int, err error) {
	look := func() error {
		ix.mu.RLock()
		unfinished, bad = ix.gaps()
		ix.mu.RUnlock()
		if unfinished+bad == 0 || ix.Hold == nil {
			return nil
		}
		return ix.rewrite()
	}
	if ix.Hold == nil {
		err = look()
		return unfinished, bad, err
	}
	err = ix.locked(look)
	return unfinished, bad, err
}

// gaps returns the number of bytes of frames that were not written whole, and
// that of other bytes that belong to no frame. It needs mu for reading.
func (ix *Index) gaps() (unfinished, bad int) {
	data := ix.log.bytes()
	if ix.bad == 0 && len(data) <= ix.scanned {
		return 0, 0
	}
	gap := func(b []byte) {
		switch {
		case len(bytes.Trim(b, "\n")) == 0: // the end of a line that was complete except for it
		case torn(b):
			unfinished += len(b)
		default:
			bad += len(b)
		}
	}
	end := min(len(logHeader), len(data))
	scanFrames(data, end, func(_ frame, at, n int) {
		gap(data[end:at])
		end = at + n
	})
	gap(data[end:])
	return unfinished, bad
}

// WasLost refreshes, and reports whether the log is or was missing or empty although
// it had been written to, and Restart has not accepted it.
func (ix *Index) WasLost() (bool, error) {
	if err := ix.Refresh(); err != nil {
		return false, err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.Lost.Load() != 0 || ix.lost(), nil
}

// Restart accepts the loss of the log. A new one has no history.
func (ix *Index) Restart() error {
	return ix.locked(func() error {
		if ix.lost() {
			ix.Changes.Store(0)
			if err := ix.create(); err != nil {
				return err
			}
		}
		ix.Lost.Store(0)
		return nil
	})
}

// lost reports whether the log is missing or empty although it was written to.
func (ix *Index) lost() bool {
	return ix.Changes.Load() > 0 && len(ix.log.bytes()) <= len(logHeader)
}
