package compare

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// Members is the summary of an archive: its files, whatever their order, times
// and compression.
type Members struct {
	Count int `json:"count"`
	// Sum is the digest of all names and digests.
	Sum string `json:"sum"`
	// Order, Times and Packing are digests of what is no content: the order of
	// the members, their times, methods and packed sizes. Only zip files have
	// the last two.
	Order   string `json:"order"`
	Times   string `json:"times,omitempty"`
	Packing string `json:"packing,omitempty"`
	// List holds the first maxListed files by name, all if there are no more.
	List []Member `json:"list"`
}

// Member is a file in an archive.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (m Member) named() (name, sum string) { return m.Name, m.SHA256 }

// maxMembers is the largest number of files in an archive that is looked into.
const maxMembers = 1 << 20

func archiveFormat(name string) archive.Format { return archive.FormatOf(name) }

// innerName returns the name of what a gzip file holds, "" if it is none.
func innerName(name string) string {
	if archiveFormat(name) != "" || !strings.HasSuffix(strings.ToLower(name), ".gz") {
		return ""
	}
	return name[:len(name)-len(".gz")]
}

// errNotGzip says that a file called so cannot be unpacked.
var errNotGzip = errors.New("not a readable gzip file")

// gunzip opens what a gzip file holds.
func gunzip(open Opener) Opener {
	return func(ctx context.Context) (fs.File, error) {
		f, err := open(ctx)
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%w: %w", errNotGzip, err)
		}
		return &gzipFile{File: f, z: z}, nil
	}
}

// gzipFile is a gzip file whose Read gives the unpacked bytes.
type gzipFile struct {
	fs.File
	z *gzip.Reader
}

func (g *gzipFile) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errNotGzip, err)
	}
	return n, err
}

// members are the files of an archive in its order.
type members []Member

// membersOf reads an archive.
func membersOf(ctx context.Context, name string, open Opener) (members, error) {
	var out members
	err := eachMember(ctx, name, open, func(e archive.Entry, r io.Reader) error {
		sum := sha256.New()
		n, err := io.Copy(sum, r)
		out = append(out, Member{Name: e.Name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
		return err
	})
	return out, err
}

func eachMember(ctx context.Context, name string, open Opener, visit func(archive.Entry, io.Reader) error) error {
	f, err := open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return errors.New("the file cannot be read at any offset")
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	limits := archive.DefaultLimits()
	limits.Entries = maxMembers
	return archive.Walk(ctx, archive.Source{ReaderAt: at, Size: info.Size()}, archiveFormat(name), limits,
		func(e archive.Entry, r io.Reader) error {
			if e.Folder {
				return nil
			}
			return visit(e, r)
		})
}

func (m members) sorted() []Member {
	out := slices.Clone([]Member(m))
	slices.SortStableFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m members) summary(ctx context.Context, name string, open Opener) *Members {
	all := m.sorted()
	sum, order := sha256.New(), sha256.New()
	for i, one := range all {
		fmt.Fprintf(sum, "%q %s\n", one.Name, one.SHA256)
		fmt.Fprintf(order, "%q\n", m[i].Name)
	}
	out := &Members{Count: len(all), Sum: short(sum), Order: short(order), List: all[:min(len(all), maxListed)]}
	if o, times, packing := zipLayout(ctx, name, open); o != "" {
		out.Order, out.Times, out.Packing = o, times, packing
	}
	return out
}
