package archive

import (
	"encoding/binary"
	"io"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
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
	clean := cleaner()
	err = a.each(func(i int, e *Entry, stream int) error {
		if stream >= 0 {
			return nil
		}
		if err := clean.admit(e); err != nil {
			return err
		}
		return u.emptyFile(int64(i), *e)
	})
	if err == nil {
		u.sevenZipFolders(a)
	}
	return err
}

// sevenZipFolders unpacks all folders, as many at once as workers and memory
// allow.
func (u *unpacker) sevenZipFolders(a *sevenZip) {
	memory := semaphore.NewWeighted(dictionaryBytes)
	var folders errgroup.Group
	folders.SetLimit(u.o.Workers)
	for i := range a.streams.folders {
		weight := min(a.streams.folders[i].dictionary(), dictionaryBytes)
		if memory.Acquire(u.ctx, weight) != nil {
			break
		}
		folders.Go(func() error {
			defer memory.Release(weight)
			if err := u.sevenZipFolder(a, i); err != nil {
				u.fail(err)
			}
			return nil
		})
	}
	_ = folders.Wait() // the unpacker has the first failure
}

// dictionary is how much memory a folder's dictionaries take.
func (f *szFolder) dictionary() int64 {
	total := int64(0)
	for _, c := range f.spec.coders {
		switch {
		case c.method == "\x03\x01\x01" && len(c.props) == 5:
			total += int64(binary.LittleEndian.Uint32(c.props[1:]))
		case c.method == "\x21" && len(c.props) == 1:
			total += int64(lzma2Dictionary(c.props[0]))
		}
	}
	return total
}

// sevenZipFolder unpacks the entries of a folder up to the last one that is
// missing.
func (u *unpacker) sevenZipFolder(a *sevenZip, folder int) error {
	f := &a.streams.folders[folder]
	files := a.fileOf[f.first : f.first+f.streams]
	for len(files) > 0 && u.done.has(int64(files[len(files)-1])) {
		files = files[:len(files)-1]
	}
	clean := cleaner()
	r := szReader{a: a, folder: folder}
	defer r.close()
	for k, i := range files {
		if u.ctx.Err() != nil {
			return nil
		}
		e := a.entry(int(i))
		e.Size = a.streams.streams[f.first+k].size
		if err := clean.admit(&e); err != nil {
			return err
		}
		err := r.open(f.first+k, e.Name, func(plain io.Reader) error {
			if u.done.has(int64(i)) {
				return nil
			}
			return u.put(int64(i), e, plain, u.do)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
