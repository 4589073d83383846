package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
)

const (
	block      = 512
	blobFolder = "blobs/sha256/"
	layoutFile = "oci-layout"
	indexFile  = "index.json"
	readmeFile = "README.md"
)

// blank is the header of an entry without name and size.
var blank = sync.OnceValues(func() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Mode: 0o644, Format: tar.FormatUSTAR})
	return b.Bytes(), err
})

// header returns the header of an entry in its only form. Name and size must fit.
func header(name string, size int64) ([]byte, error) {
	head, err := blank()
	if err != nil || len(name) > 100 || size < 0 || size > maxBlob {
		return nil, errors.Join(fmt.Errorf("write header of %.100s: it does not fit", name), err)
	}
	head = bytes.Clone(head)
	copy(head, name)
	copy(head[124:], fmt.Sprintf("%011o", size))
	// The sum is taken with spaces in its own place.
	copy(head[148:156], "        ")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return head, nil
}

// padding returns the number of zeros after size bytes.
func padding(size int64) int64 { return -size & (block - 1) }

// item is a file to be written.
type item struct {
	File
	open func() (io.ReadCloser, error)
}

// archiver writes the entries of a bundle.
type archiver struct {
	w    io.Writer
	n    int64
	work *progress.Work
}

func (a *archiver) write(b []byte) error {
	n, err := a.w.Write(b)
	a.n += int64(n)
	return err
}

// entry writes a file of known size; the bytes of r must have the digest.
func (a *archiver) entry(name string, f File, r io.Reader) error {
	if f.Size > maxBlob {
		return fmt.Errorf("write %s: it has %d bytes, more than a bundle can hold in one file", f.Path, f.Size)
	}
	head, err := header(name, f.Size)
	if err != nil {
		return err
	}
	if err := a.write(head); err != nil {
		return err
	}
	id, n, err := digest.Copy(a.w, r)
	a.n += n
	switch {
	case err != nil:
		return fmt.Errorf("write %s: %w", f.Path, err)
	case id != f.Digest || n != f.Size:
		return fmt.Errorf("write %s: it changed meanwhile", f.Path)
	}
	return a.write(make([]byte, padding(n)))
}

func (a *archiver) text(name string, text []byte) error {
	return a.entry(name, File{Path: name, Digest: digest.Of(text), Size: int64(len(text))}, bytes.NewReader(text))
}

// pack writes the bundle of the items, which are sorted by path, and returns
// the digest of its manifest and its size.
func pack(w io.Writer, run string, items []item, work *progress.Work) (digest.ContentID, int64, error) {
	files := make([]File, len(items))
	var readme []byte
	for i, it := range items {
		files[i] = it.File
		if it.Path == readmeFile {
			var err error
			if readme, err = slurp(it.open); err != nil {
				return digest.ContentID{}, 0, err
			}
		}
	}
	s, err := seal(run, files)
	if err != nil {
		return digest.ContentID{}, 0, err
	}
	for _, doc := range [][]byte{s.manifest, s.contents} {
		items = append(items, item{File{"frame", digest.Of(doc), int64(len(doc))}, text(doc)})
	}
	if items, err = once(items); err != nil {
		return digest.ContentID{}, 0, err
	}
	work.Begin("writing", int64(len(items)), bundleSize(items, int64(len(layoutText)), int64(len(s.index)), int64(len(readme))))
	a := &archiver{w: work.Writer(w), work: work}
	err = errors.Join(a.text(layoutFile, []byte(layoutText)), a.text(indexFile, s.index), a.text(readmeFile, readme))
	if err != nil {
		return digest.ContentID{}, 0, err
	}
	if err := a.blobs(items); err != nil {
		return digest.ContentID{}, 0, err
	}
	return digest.Of(s.manifest), a.n, a.write(make([]byte, 2*block))
}

// bundleSize is the size of a bundle of items after entries of other sizes.
func bundleSize(items []item, others ...int64) int64 {
	var n int64 = 2 * block
	for _, it := range items {
		others = append(others, it.Size)
	}
	for _, size := range others {
		n += block + size + padding(size)
	}
	return n
}

// once returns the items in the order of digests, each digest once.
func once(items []item) ([]item, error) {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(x, y item) int { return bytes.Compare(x.Digest[:], y.Digest[:]) })
	items = slices.CompactFunc(items, func(x, y item) bool { return x.Digest == y.Digest })
	if len(items) > maxEntries {
		return nil, fmt.Errorf("write bundle: it would have %d files; the limit is %d", len(items), maxEntries)
	}
	return items, nil
}

// blobs writes every blob.
func (a *archiver) blobs(items []item) error {
	for _, it := range items {
		r, err := it.open()
		if err != nil {
			return fmt.Errorf("write %s: %w", it.Path, err)
		}
		err = a.entry(blobFolder+it.Digest.String(), it.File, r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		a.work.Add(1, 0)
	}
	return nil
}

func slurp(open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFile))
	return b, errors.Join(err, r.Close())
}

// name reads the name in a header and trusts no other field.
func headerName(head []byte) string {
	name, _, _ := bytes.Cut(head[:100], []byte{0})
	return string(name)
}

// headerSize reads the size in a header.
func headerSize(head []byte) (int64, bool) {
	var n int64
	for _, c := range strings.TrimRight(string(head[124:136]), "\x00") {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n<<3 | int64(c-'0')
	}
	return n, true
}
