package archive

import (
	"encoding/binary"
	"io"
	"sync"
)

// dictionaryBytes limits the memory for dictionaries of folders that are
// unpacked at once: eight with the 64 MiB of 7-Zip's highest preset. A single
// folder may take more, alone.
const dictionaryBytes = 512 << 20

// sevenZip unpacks a 7z archive: each folder is one stream, and several folders
// are read at once.
func (u *unpacker) sevenZip() error {
	a, err := openSevenZip(u.src, u.guard)
	if err != nil {
		return err
	}
	u.list()
	// The number of the file that has each folder's first stream.
	firsts := make([]int, len(a.streams.folders))
	folder := 0
	clean := cleaner()
	err = a.each(func(i int, e *Entry, stream int) error {
		if stream < 0 {
			if err := clean.admit(e); err != nil {
				return err
			}
			return u.emptyFile(int64(i), *e)
		}
		for ; folder < len(firsts) && a.streams.folders[folder].first <= stream; folder++ {
			firsts[folder] = i
		}
		return nil
	})
	if err != nil {
		return err
	}
	u.sevenZipFolders(a, firsts)
	return nil
}

// sevenZipFolders unpacks all folders, as many at once as workers and memory
// allow.
func (u *unpacker) sevenZipFolders(a *sevenZip, firsts []int) {
	memory := &weights{free: dictionaryBytes}
	memory.cond.L = &memory.mu
	var wg sync.WaitGroup
	slots := make(chan struct{}, u.o.Workers)
	for i := range firsts {
		weight := memory.take(a.streams.folders[i].dictionary())
		slots <- struct{}{}
		if u.ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots; memory.give(weight) }()
			if err := u.sevenZipFolder(a, i, firsts[i]); err != nil {
				u.fail(err)
			}
		})
	}
	wg.Wait()
}

// dictionary is how much memory a folder's dictionaries take.
func (f *szFolder) dictionary() int64 {
	total := int64(0)
	for _, c := range f.spec.coders {
		switch {
		case c.method == "\x03\x01\x01" && len(c.props) == 5:
			total += int64(binary.LittleEndian.Uint32(c.props[1:]))
		case c.method == "\x21" && len(c.props) == 1 && c.props[0] <= 40:
			total += (2 | int64(c.props[0])&1) << (c.props[0]/2 + 11)
		}
	}
	return total
}

// weights limits what is used at once.
type weights struct {
	mu   sync.Mutex
	cond sync.Cond
	free int64
}

// take waits until n, or the whole amount if that is less, is free. It returns
// the amount taken.
func (w *weights) take(n int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, dictionaryBytes)
	for w.free < n {
		w.cond.Wait()
	}
	w.free -= n
	return n
}

func (w *weights) give(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	w.cond.Broadcast()
}

// sevenZipFolder unpacks the entries of a folder up to the last one that is
// missing. The first of them is the archive's entry of that number.
func (u *unpacker) sevenZipFolder(a *sevenZip, folder, first int) error {
	f := &a.streams.folders[folder]
	todo := 0
	for i, k := first, 0; k < f.streams; i++ {
		if a.files.empty.has(int64(i)) {
			continue
		}
		if k++; !u.done.has(int64(i)) {
			todo = k
		}
	}
	clean := cleaner()
	r := szReader{a: a, folder: folder}
	defer r.close()
	for i, k := first, 0; k < todo; i++ {
		if a.files.empty.has(int64(i)) {
			continue
		}
		if u.ctx.Err() != nil {
			return nil
		}
		e := a.entry(i)
		e.Size = a.streams.streams[f.first+k].size
		if err := clean.admit(&e); err != nil {
			return err
		}
		k++
		err := r.give(f.first+k-1, e.Name, func(plain io.Reader) error {
			if u.done.has(int64(i)) {
				return nil
			}
			return u.put(int64(i), e, plain)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
