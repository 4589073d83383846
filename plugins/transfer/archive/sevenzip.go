package archive

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	szSignature = "7z\xbc\xaf\x27\x1c"
	szHeadSize  = 32
	// maxSevenZipHeader limits the header, which is read into memory. At some 100
	// bytes per entry, it suffices for millions of files.
	maxSevenZipHeader = 1 << 28
)

// sevenZip is an opened 7z archive: folders of Copy, LZMA, LZMA2, Deflate and
// BZip2, and the filters Delta and BCJ (x86), alone or in a chain.
type sevenZip struct {
	src     Source
	streams szStreams
	files   szFiles
	// packAt is where the packed bytes of each folder begin.
	packAt []int64
	// fileOf is the number of each stream's file.
	fileOf []int32
}

// openSevenZip reads the header and checks names and sizes.
func openSevenZip(src Source, g *guard) (*sevenZip, error) {
	streams, files, err := readSevenZipHeader(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a := &sevenZip{src: src, streams: streams, files: files}
	at := streams.packPos + szHeadSize
	for _, size := range streams.packSizes {
		a.packAt = append(a.packAt, at)
		if at < 0 || size < 0 || at > src.Size-size {
			return nil, fmt.Errorf("%w: packed bytes are outside the file", ErrFormat)
		}
		at += size
	}
	if len(a.packAt) < len(streams.folders) {
		return nil, fmt.Errorf("%w: %w", ErrFormat, errHeader)
	}
	return a, a.each(func(i int, e *Entry, stream int) error {
		if stream >= 0 {
			a.fileOf = append(a.fileOf, int32(i))
		}
		return g.admit(e)
	})
}

// each passes all entries in order, with the number of each entry's stream, or
// -1 if it has none.
func (a *sevenZip) each(visit func(i int, e *Entry, stream int) error) error {
	next := 0
	for i := range a.files.n {
		e := a.entry(i)
		if err := a.checkKind(i, e.Name); err != nil {
			return err
		}
		stream := -1
		if !a.files.empty.has(int64(i)) {
			if stream = next; stream >= len(a.streams.streams) {
				return fmt.Errorf("%w: more files than streams", ErrFormat)
			}
			e.Size, next = a.streams.streams[stream].size, next+1
		}
		if err := visit(i, &e, stream); err != nil {
			return err
		}
	}
	if next < len(a.streams.streams) {
		return fmt.Errorf("%w: more streams than files", ErrFormat)
	}
	return nil
}

// entry returns an entry without its size.
func (a *sevenZip) entry(i int) Entry {
	e := Entry{Name: a.files.name(i), Folder: a.files.folder.has(int64(i))}
	attr := a.files.attr(i)
	e.Executable = attr&0x8000 != 0 && attr>>16&0o100 != 0 && !e.Folder
	return e
}

// checkKind rejects what is neither a file nor a folder.
func (a *sevenZip) checkKind(i int, name string) error {
	attr := a.files.attr(i)
	kind := attr >> 28
	switch {
	case attr&0x400 != 0, attr&0x8000 != 0 && kind == 0o12:
		return fmt.Errorf("%w: %q is a link", ErrUnsafe, name)
	case attr&0x8000 != 0 && kind != 0 && kind != 0o4 && kind != 0o10:
		return fmt.Errorf("%w: %q is neither a file nor a folder", ErrUnsafe, name)
	}
	return nil
}

// walkSevenZip passes the entries in order. All names and sizes are checked
// before the first one.
func walkSevenZip(ctx context.Context, src Source, g *guard, visit func(Entry, io.Reader) error) error {
	a, err := openSevenZip(src, g)
	if err != nil {
		return err
	}
	r := szReader{a: a}
	defer r.close()
	return a.each(func(_ int, e *Entry, stream int) error {
		if err := cmp.Or(ctx.Err(), e.clean()); err != nil {
			return err
		}
		if stream < 0 {
			if e.Name == "." {
				return nil
			}
			return visit(*e, strings.NewReader(""))
		}
		return r.open(stream, e.Name, func(plain io.Reader) error { return visit(*e, plain) })
	})
}

// szReader reads the folders of an archive, stream by stream.
type szReader struct {
	a      *sevenZip
	folder int
	plain  io.Reader
	done   func() // returns what plain uses to the pool
	// next is the stream that plain returns next.
	next int
}

// open opens a stream, which must come after the previous ones, for one call.
// Bytes that the call leaves unread are read and checked too.
func (r *szReader) open(stream int, name string, use func(io.Reader) error) error {
	s := &r.a.streams
	for stream >= s.folders[r.folder].first+s.folders[r.folder].streams {
		r.close()
		r.folder++
	}
	f := &s.folders[r.folder]
	if r.plain == nil {
		plain, done, err := openFolder7z(r.a.src, r.a.packAt[r.folder], s.packSizes[r.folder], s, f)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		r.plain, r.done, r.next = plain, done, f.first
	}
	for ; r.next < stream; r.next++ {
		if err := r.use(name, func(io.Reader) error { return nil }); err != nil {
			return err
		}
	}
	err := r.use(name, use)
	r.next++
	return err
}

// close ends the folder that is open, if one is.
func (r *szReader) close() {
	if r.plain != nil {
		r.done()
		r.plain = nil
	}
}

func (r *szReader) use(name string, use func(io.Reader) error) error {
	s := r.a.streams.streams[r.next]
	plain := &checkedReader{r: r.plain, name: name, left: s.size, want: s, sum: crc32.NewIEEE()}
	if err := use(plain); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, plain)
	return err
}

// openFolder7z returns the plain bytes of a folder.
func openFolder7z(src Source, at, size int64, s *szStreams, f *szFolder) (io.Reader, func(), error) {
	packed, donePacked := openPacked(src, at, size)
	used := []func(){donePacked}
	done := func() {
		for _, give := range used {
			give()
		}
	}
	var r io.Reader = packed
	for _, i := range f.spec.order {
		plain, give, err := openCoder(r, f.spec.coders[i], s.coderSizes(f)[i])
		if err != nil {
			done()
			return nil, nil, err
		}
		r, used = plain, append(used, give)
	}
	return r, done, nil
}

func openCoder(r io.Reader, c szCoder, size int64) (io.Reader, func(), error) {
	var err error
	done := func() {}
	switch c.method {
	case "\x00":
	case "\x03\x01\x01":
		r, err = newLZMAReader(r, c.props, size)
	case "\x21":
		r, err = newLZMA2Reader(r, c.props, size)
	case "\x03":
		r, err = newDeltaReader(r, c.props)
	case "\x03\x03\x01\x03":
		r, done = openBranch(r)
	case "\x04\x01\x08":
		r, done = openDeflate(r)
	case "\x04\x02\x02":
		r = openBzip2(r, size)
	case "\x06\xf1\x07\x01":
		return nil, nil, fmt.Errorf("%w: it is encrypted", ErrFormat)
	default:
		return nil, nil, fmt.Errorf("%w: compression method %x is not supported", ErrFormat, c.method)
	}
	if err != nil && !errors.Is(err, ErrUnsafe) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return r, done, err
}

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
	err = a.each(func(i int, e *Entry, stream int) error {
		if stream >= 0 {
			return nil
		}
		if err := e.clean(); err != nil {
			return err
		}
		return u.emptyFile(int64(i), *e)
	})
	if err != nil {
		return err
	}
	return u.sevenZipFolders(a)
}

// sevenZipFolders unpacks all folders, as many at once as workers and memory
// allow.
func (u *unpacker) sevenZipFolders(a *sevenZip) error {
	memory := semaphore.NewWeighted(dictionaryBytes)
	folders, ctx := errgroup.WithContext(u.ctx)
	folders.SetLimit(u.o.Workers)
	for i := range a.streams.folders {
		weight := min(a.streams.folders[i].dictionary(), dictionaryBytes)
		if memory.Acquire(ctx, weight) != nil {
			break
		}
		folders.Go(func() error {
			defer memory.Release(weight)
			return u.sevenZipFolder(ctx, a, i)
		})
	}
	return folders.Wait()
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
func (u *unpacker) sevenZipFolder(ctx context.Context, a *sevenZip, folder int) error {
	f := &a.streams.folders[folder]
	files := a.fileOf[f.first : f.first+f.streams]
	for len(files) > 0 && u.done.has(int64(files[len(files)-1])) {
		files = files[:len(files)-1]
	}
	r := szReader{a: a, folder: folder}
	defer r.close()
	for k, i := range files {
		if ctx.Err() != nil {
			return nil
		}
		e := a.entry(int(i))
		e.Size = a.streams.streams[f.first+k].size
		if err := e.clean(); err != nil {
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
