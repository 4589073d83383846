package compare

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// gzips compares what two gzip files hold.
func gzips(ctx context.Context, name string, want, got Opener, depth int) (Difference, error) {
	a, b := gunzip(want), gunzip(got)
	equal := false
	err := pair(ctx, a, b, func(x, y io.Reader) error {
		text, err := firstByte(x, y)
		equal = text == "the bytes are equal"
		return err
	})
	if err != nil {
		return Difference{}, err
	}
	if !equal {
		d, err := files(ctx, innerName(name), a, b, depth+1)
		d.Text = "unpacked: " + d.Text
		return d, err
	}
	x, err := gzipHeader(ctx, want)
	if err != nil {
		return Difference{}, err
	}
	y, err := gzipHeader(ctx, got)
	return same(gzipWays(x, y)...), err
}

// Gzip is what a gzip file's header says.
type Gzip struct {
	Name string `json:"name,omitempty"`
	Time int64  `json:"time,omitempty"`
	More string `json:"more,omitempty"`
}

func gzipHeader(ctx context.Context, open Opener) (*Gzip, error) {
	f, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotGzip, err)
	}
	h := &Gzip{Name: z.Name, More: fmt.Sprintf("%d %q %x", z.OS, z.Comment, z.Extra)}
	if !z.ModTime.IsZero() {
		h.Time = z.ModTime.Unix()
	}
	return h, nil
}

// gzipWays says how two gzip files of equal content differ.
func gzipWays(want, got *Gzip) []string {
	if want == nil || got == nil || *want == *got {
		return []string{packing}
	}
	if want.Time != got.Time {
		return []string{memberTimes}
	}
	return []string{header}
}

// zipLayout is the sums of what in a zip file is no content.
func zipLayout(ctx context.Context, name string, open Opener) (order, times, packing string) {
	f, err := open(ctx)
	if err != nil {
		return "", "", ""
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	info, err := f.Stat()
	if !ok || err != nil || archiveFormat(name) != archive.Zip {
		return "", "", ""
	}
	z, err := zip.NewReader(at, info.Size())
	if err != nil || len(z.File) > maxMembers {
		return "", "", ""
	}
	o, t, p := sha256.New(), sha256.New(), sha256.New()
	for _, e := range z.File {
		fmt.Fprintf(o, "%q\n", e.Name)
	}
	slices.SortStableFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range z.File {
		fmt.Fprintf(t, "%d %x %x\n", e.Modified.Unix(), e.ModifiedDate, e.ModifiedTime) //nolint:staticcheck // as it is stored
		fmt.Fprintf(p, "%d %d\n", e.Method, e.CompressedSize64)
	}
	return short(o), short(t), short(p)
}

// archives compares the files of two archives.
func archives(ctx context.Context, name string, want, got Opener) (Difference, error) {
	a, err := membersOf(ctx, name, want)
	if err != nil {
		return Difference{}, err
	}
	b, err := membersOf(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	x, y := a.summary(ctx, name, want), b.summary(ctx, name, got)
	if x.Sum == y.Sum {
		return same(memberWays(x, y)...), nil
	}
	d, changed := memberNews(a.sorted(), b.sorted(), true)
	if changed == "" {
		return d, nil
	}
	d.Text += "; " + show([]byte(changed)) + ": " + member(ctx, name, changed, want, got).Text
	return d, nil
}

// member says how one member of two archives differs.
func member(ctx context.Context, name, changed string, want, got Opener) Difference {
	var found [2]Summary
	for i, open := range []Opener{want, got} {
		err := eachMember(ctx, name, open, func(e archive.Entry, r io.Reader) (err error) {
			if e.Name == changed {
				found[i], err = summariseReader(changed, r)
			}
			return err
		})
		if err != nil {
			return Difference{Text: err.Error()}
		}
	}
	return summaries(found[0], found[1])
}

// memberWays says how archives of equal files differ.
func memberWays(want, got *Members) (ways []string) {
	for _, c := range []struct {
		want, got string
		way       string
	}{{want.Order, got.Order, memberOrder}, {want.Times, got.Times, memberTimes}, {want.Packing, got.Packing, packing}} {
		if c.want != c.got {
			ways = append(ways, c.way)
		}
	}
	if len(ways) == 0 {
		ways = append(ways, header)
	}
	return ways
}

func summarisedMembers(want, got *Members) Difference {
	if want.Sum == got.Sum {
		return same(memberWays(want, got)...)
	}
	d, _ := memberNews(want.List, got.List, want.Count == len(want.List) && got.Count == len(got.List))
	if want.Count != got.Count {
		d.Text += fmt.Sprintf("; want %s, got %s", count(int64(want.Count), "member"), Thousands(int64(got.Count)))
	}
	d.Text = strings.TrimPrefix(d.Text, "; ")
	return d
}

// memberNews says which members differ, and names the first that both have.
// When the lists are not whole, members that only one has say nothing.
func memberNews(want, got []Member, whole bool) (d Difference, changed string) {
	differ, missing, extra := paired(want, got)
	var parts []string
	note := func(names []string, what string) {
		if len(names) > 0 {
			parts = append(parts, count(int64(len(names)), "member")+" "+what+": "+some(names))
		}
	}
	note(differ, "changed")
	if whole {
		note(missing, "missing")
		note(extra, "too many")
	}
	if len(parts) == 0 {
		parts = append(parts, "a member that is not listed differs")
	}
	if len(differ) > 0 {
		changed = differ[0]
	}
	return Difference{Text: strings.Join(parts, "; ")}, changed
}
