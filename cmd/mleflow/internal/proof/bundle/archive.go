package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

const (
	block      = 512
	blobFolder = "blobs/sha256/"
	layoutFile = "oci-layout"
	indexFile  = "index.json"
	readmeFile = "README.md"
)

// begin writes the header of an entry in its only form. Name and size must fit.
func begin(w *tar.Writer, name string, size int64) error {
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR})
	if err != nil {
		return fmt.Errorf("write header of %.100s: it does not fit: %w", name, err)
	}
	return nil
}

// header returns the header of an entry in its only form.
func header(name string, size int64) ([]byte, error) {
	var b bytes.Buffer
	err := begin(tar.NewWriter(&b), name, size)
	return b.Bytes(), err
}

// padding returns the number of zeros after size bytes.
func padding(size int64) int64 { return -size & (block - 1) }

// item is a file to be written.
type item struct {
	File
	open func() (io.ReadCloser, error)
}

func (it item) file() File { return it.File }

// writeEntry writes a file of known size; the bytes of r must have the digest.
func writeEntry(w *tar.Writer, name string, f File, r io.Reader) error {
	if f.Size > maxBlob {
		return fmt.Errorf("write %s: it has %d bytes, more than a bundle can hold in one file", f.Path, f.Size)
	}
	if err := begin(w, name, f.Size); err != nil {
		return err
	}
	id, n, err := digest.Copy(w, r)
	switch {
	case err != nil && !errors.Is(err, tar.ErrWriteTooLong):
		return fmt.Errorf("write %s: %w", f.Path, err)
	case err != nil, id != f.Digest, n != f.Size:
		return fmt.Errorf("write %s: it changed meanwhile", f.Path)
	}
	return w.Flush()
}

func writeText(w *tar.Writer, name string, text []byte) error {
	return writeEntry(w, name, File{Path: name, Digest: digest.Of(text), Size: int64(len(text))}, bytes.NewReader(text))
}

// pack writes the bundle of the items, which are sorted by path, and returns
// the digest of its manifest and its size.
func pack(w io.Writer, run string, items []item, work *progress.Work) (digest.ContentID, int64, error) {
	var readme []byte
	var err error
	if i := slices.IndexFunc(items, func(it item) bool { return it.Path == readmeFile }); i >= 0 {
		readme, err = slurp(items[i].open)
	}
	s, errSeal := seal(run, lists.Of(items, item.file))
	if err = cmp.Or(err, errSeal); err != nil {
		return digest.ContentID{}, 0, err
	}
	for _, doc := range [][]byte{s.manifest, s.contents} {
		items = append(items, item{File{"frame", digest.Of(doc), int64(len(doc))}, text(doc)})
	}
	if items, err = once(items); err != nil {
		return digest.ContentID{}, 0, err
	}
	size := bundleSize(items, int64(len(layoutText)), int64(len(s.index)), int64(len(readme)))
	work.Begin("writing", int64(len(items)), size)
	out := tar.NewWriter(work.Writer(w))
	err = cmp.Or(writeText(out, layoutFile, []byte(layoutText)), writeText(out, indexFile, s.index), writeText(out, readmeFile, readme))
	for _, it := range items {
		if err != nil {
			return digest.ContentID{}, 0, err
		}
		err = writeBlob(out, it.File, it.open)
		work.Add(1, 0)
	}
	return digest.Of(s.manifest), size, cmp.Or(err, out.Close())
}

// bundleSize is the size of a bundle of items after entries of other sizes.
func bundleSize(items []item, others ...int64) int64 {
	sizes := append(others, lists.Of(items, func(it item) int64 { return it.Size })...)
	return 2*block + lists.Sum(sizes, func(size int64) int64 { return block + size + padding(size) })
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

// writeBlob writes a file as a blob.
func writeBlob(w *tar.Writer, f File, open func() (io.ReadCloser, error)) error {
	r, err := open()
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return errors.Join(writeEntry(w, blobFolder+f.Digest.String(), f, r), r.Close())
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

// headerSize reads the size in a header, and reports whether a bundle can have it.
func headerSize(head []byte) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimRight(string(head[124:136]), "\x00"), 8, 64)
	return n, err == nil && n >= 0 && n <= maxBlob
}

// Written describes a written bundle.
type Written struct {
	Run      string           `json:"run"`
	File     string           `json:"file"`
	Bytes    int64            `json:"bytes"`
	Files    int              `json:"files"`
	Manifest digest.ContentID `json:"manifest"`
	// Omitted lists the content that is not in it.
	Omitted []Omission `json:"omitted"`
	// KeyID is the key that signed it, empty if none did.
	KeyID string `json:"key_id,omitempty"`
}

// Write writes the bundle of a run to the file at path, which appears whole or
// not at all.
func Write(ctx context.Context, path string, src Source) (*Written, error) {
	src.Work.Begin("reading results", 0, 0)
	c, err := collect(ctx, src)
	if err != nil {
		return nil, err
	}
	out := &Written{Run: c.Run.ID, File: path, Omitted: c.omitted}
	if out.KeyID, err = c.attest(); err != nil {
		return nil, err
	}
	items := c.sorted()
	out.Files = len(items)
	err = wholefile.Replace(path, func(w io.Writer) (err error) {
		out.Manifest, out.Bytes, err = c.pack(w, items)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write bundle %s: %w", path, err)
	}
	return out, nil
}

// pack writes the bundle, and looks for secrets in every file of it. Those of agents
// were searched before.
func (c *collector) pack(w io.Writer, items []item) (digest.ContentID, int64, error) {
	for i, it := range items {
		if _, err := secret.NewGuard(c.leaks.secrets).Write([]byte(it.Path + "\n")); err != nil {
			return digest.ContentID{}, 0, fmt.Errorf("the name of an agent's file: %w", errLeak)
		}
		items[i].open = func() (io.ReadCloser, error) {
			r, err := it.open()
			if err != nil {
				return nil, err
			}
			return watched{r, secret.NewGuard(c.leaks.secrets)}, nil
		}
	}
	return pack(w, c.Run.ID, items, c.src.Work)
}

// watched is a file that is read under watch.
type watched struct {
	io.ReadCloser
	guard *secret.Guard
}

// Read implements io.Reader. It fails when a secret was read.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if _, found := w.guard.Write(p[:n]); found != nil {
		return 0, errLeak
	}
	return n, err
}

// attest adds the provenance of everything else.
func (c *collector) attest() (keyID string, err error) {
	frame, err := seal(c.Run.ID, lists.Of(c.sorted(), item.file))
	if err != nil {
		return "", err
	}
	statement, err := document(c.statement(frame.contents))
	if err != nil {
		return "", err
	}
	c.add(statementFile, statement)
	if c.src.Key == nil {
		return "", nil
	}
	env, err := c.src.Key.sign(statement)
	if err != nil {
		return "", err
	}
	keyID = env.Signatures[0].KeyID
	return keyID, c.addDocument(envelopeFile, env)
}
