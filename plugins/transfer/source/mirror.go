package source

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Objects reads the objects below one URL of an object storage.
type Objects interface {
	// Size returns the length of an object; a missing one is fs.ErrNotExist.
	Size(ctx context.Context, name string) (int64, error)
	// Read opens an object at an offset.
	Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	io.Closer
}

// OpenObjects opens a URL such as s3://bucket/folder. Credentials come from the
// storage's usual places.
type OpenObjects func(ctx context.Context, base string) (Objects, error)

// mirror reads <slug>.zip, or the file Spec.Name, below a base URL (Spec.URL):
// a folder, a web address, or object storage. If there is a file SHA256SUMS
// next to the archives, in the format of sha256sum, it must match. Pins must
// match in any case. An archive with neither is accepted without proof.
type mirror struct {
	web  Source
	open OpenObjects
}

// newMirror returns the source. web fetches from web addresses. open may be
// nil; object storage is then not supported.
func newMirror(web Source, open OpenObjects) *mirror { return &mirror{web: web, open: open} }

// NoteMirror is the note for data that a mirror has, so that their origin need
// not be asked.
const NoteMirror = "on the mirror"

// sumsName is the name of a mirror's list of checksums.
const sumsName = "SHA256SUMS"

// scheme returns the scheme of a URL, "" for a folder.
func scheme(base string) string {
	s, _, ok := strings.Cut(base, "://")
	if !ok || s == "file" {
		return ""
	}
	return s
}

func folderOf(base string) string { return strings.TrimPrefix(base, "file://") }

// remote reports whether the base URL is not on this machine.
func (m *mirror) remote(spec Spec) bool { return scheme(spec.URL) != "" }

// file is the path below a mirror's URL.
func (s Spec) file() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Slug + ".zip"
}

// Check implements Source.
func (m *mirror) Check(spec Spec) error {
	switch {
	case spec.Name != "":
		if !fs.ValidPath(spec.Name) {
			return fmt.Errorf("%q is not a relative path below the mirror", spec.Name)
		}
	case spec.Slug == "" || strings.ContainsAny(spec.Slug, `/\`):
		return errors.New("a mirror source needs a slug, the name of its archive without .zip")
	}
	if spec.URL == "" {
		return errors.New("a mirror source needs a url: a folder, or an address that begins with https:// or s3://")
	}
	switch s := scheme(spec.URL); s {
	case "", "http", "https":
		return nil
	default:
		if m.open == nil {
			return fmt.Errorf("mirror %s: %s is not supported", Redact(spec.URL), s)
		}
	}
	return nil
}

// Fingerprint implements Source.
func (m *mirror) Fingerprint(spec Spec, h *digest.Hasher) error {
	if fingerprintPins(spec, h) {
		return nil
	}
	if !m.remote(spec) {
		return file{}.Fingerprint(Spec{Path: m.path(spec)}, h)
	}
	h.String("source mirror", Redact(m.address(spec, spec.file())))
	return nil
}

func (m *mirror) path(spec Spec) string {
	return filepath.Join(folderOf(spec.URL), filepath.FromSlash(spec.file()))
}

// address is the URL of a file below the base; parameters of the base URL are
// kept.
func (m *mirror) address(spec Spec, name string) string {
	u, err := url.Parse(spec.URL)
	if err != nil {
		return strings.TrimSuffix(spec.URL, "/") + "/" + name
	}
	return u.JoinPath(name).String()
}

// Fetch implements Source.
func (m *mirror) Fetch(ctx context.Context, req Request) (Data, error) {
	spec := req.Spec
	if spec.SHA256 == "" {
		sum, err := m.sum(ctx, spec, req.Store)
		if err != nil {
			return Data{}, fmt.Errorf("from mirror: %w", err)
		}
		spec.SHA256 = sum
	}
	if !spec.pinned() {
		req.logf("the mirror has no %s and there is no pin, so nothing proves that %s is unchanged", sumsName, spec.file())
	}
	var data Data
	var err error
	switch scheme(spec.URL) {
	case "":
		req.Spec = Spec{Path: m.path(spec), MD5: spec.MD5, SHA256: spec.SHA256}
		data, err = file{}.Fetch(ctx, req)
	case "http", "https":
		req.Spec = Spec{URL: m.address(spec, spec.file()), MD5: spec.MD5, SHA256: spec.SHA256}
		data, err = m.web.Fetch(ctx, req)
	default:
		req.Spec = spec
		data, err = m.fetchObject(ctx, req)
	}
	if err != nil {
		return Data{}, fmt.Errorf("from mirror: %w", err)
	}
	return data, nil
}

// maxSums is the largest size of a list of checksums.
const maxSums = 16 << 20

// sum returns the SHA-256 of the archive in the mirror's list, or "".
func (m *mirror) sum(ctx context.Context, spec Spec, store cache.Building) (string, error) {
	r, err := m.openSums(ctx, spec, store)
	var page *pageError // a site that answers every request with its front page
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrGone) || errors.As(err, &page) && !page.login {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", sumsName, err)
	}
	defer r.Close()
	for lines := bufio.NewScanner(io.LimitReader(r, maxSums)); lines.Scan(); {
		sum, name, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		name = strings.TrimPrefix(strings.TrimLeft(name, " *"), "./")
		if raw, err := hex.DecodeString(sum); ok && err == nil && len(raw) == 32 && name == spec.file() {
			return strings.ToLower(sum), nil
		}
	}
	return "", nil
}

func (m *mirror) openSums(ctx context.Context, spec Spec, store cache.Building) (io.ReadCloser, error) {
	switch scheme(spec.URL) {
	case "":
		return os.Open(filepath.Join(folderOf(spec.URL), sumsName))
	case "http", "https":
		data, err := m.web.Fetch(ctx, Request{Spec: Spec{URL: m.address(spec, sumsName)}, Store: store})
		if err != nil {
			return nil, err
		}
		return store.Open(ctx, data.Ref.ID)
	}
	objects, err := m.open(ctx, spec.URL)
	if err != nil {
		return nil, err
	}
	r, err := objects.Read(ctx, sumsName, 0)
	if err != nil {
		return nil, errors.Join(err, objects.Close())
	}
	return &closeBoth{r, objects}, nil
}

// closeBoth also closes the underlying reader.
type closeBoth struct {
	io.ReadCloser
	after io.Closer
}

func (c *closeBoth) Close() error { return errors.Join(c.ReadCloser.Close(), c.after.Close()) }

// fetchObject stores an object, continuing an interrupted fetch.
func (m *mirror) fetchObject(ctx context.Context, req Request) (Data, error) {
	objects, err := m.open(ctx, req.Spec.URL)
	if err != nil {
		return Data{}, err
	}
	defer objects.Close()
	name := req.Spec.file()
	size, err := objects.Size(ctx, name)
	if err != nil {
		return Data{}, absentObject(name, err)
	}
	key := ""
	if req.Spec.pinned() { // without a pin, nothing proves that the rest belongs to the same version
		key = "mirror " + req.Spec.SHA256 + req.Spec.MD5
	}
	in, err := req.Store.Ingest(ctx, key)
	if err != nil {
		return Data{}, err
	}
	handed := false
	defer func() {
		if !handed {
			in.Close()
		}
	}()
	if in.Offset() > size {
		if err := in.Reset(); err != nil {
			return Data{}, err
		}
	}
	if err := readObject(ctx, objects, in, size, req); err != nil {
		return Data{}, err
	}
	data := Data{Name: name, Ref: cache.Ref{Kind: cache.Blob, Size: size}}
	if data.Ref.ID, data.MD5, err = hashBoth(ctx, io.NewSectionReader(in, 0, size)); err != nil {
		return Data{}, fmt.Errorf("hash %s: %w", name, err)
	}
	if err := verify(req.Spec, name, data); err != nil {
		return Data{}, errors.Join(err, in.Reset())
	}
	if req.Unpublished {
		data.File, handed = &ingested{in, data.Ref}, true
		return data, nil
	}
	_, err = in.Commit(ctx, data.Ref)
	return data, err
}

// readObject appends the rest of an object to an ingest.
func readObject(ctx context.Context, objects Objects, in cache.Ingest, size int64, req Request) error {
	name := req.Spec.file()
	req.progress(in.Offset(), size)
	if in.Offset() == size {
		return nil
	}
	r, err := objects.Read(ctx, name, in.Offset())
	if err != nil {
		return absentObject(name, err)
	}
	defer r.Close()
	start := in.Offset()
	if _, err := cache.Copy(ctx, in, &counter{r: r, tell: func(n int64) { req.progress(start+n, size) }}); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &TemporaryError{Err: fmt.Errorf("read %s: %w", name, err)}
	}
	if in.Offset() != size {
		return &TemporaryError{Err: fmt.Errorf("read %s: got %d of %d bytes", name, in.Offset(), size)}
	}
	return nil
}

// absentObject distinguishes a missing object from a storage that cannot be
// reached.
func absentObject(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, ErrGone)
	}
	return &TemporaryError{Err: fmt.Errorf("look at %s: %w", name, err)}
}

// Inspect implements Inspector.
func (m *mirror) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	name := spec.file()
	switch scheme(spec.URL) {
	case "":
		return inspectFile(m.path(spec))
	case "http", "https":
		if i, ok := m.web.(Inspector); ok {
			return i.Inspect(ctx, Spec{URL: m.address(spec, name)})
		}
		return Availability{}, nil
	}
	objects, err := m.open(ctx, spec.URL)
	if err != nil {
		return Availability{}, err
	}
	defer objects.Close()
	size, err := objects.Size(ctx, name)
	if err != nil {
		return Availability{}, absentObject(name, err)
	}
	return Availability{Bytes: size}, nil
}

// mirrored is a source with a mirror in front of it. What the mirror does not
// have, cannot deliver or has wrong is fetched from its origin, and the log
// says why. Keys do not change.
type mirrored struct {
	Source // the origin
	mirror *mirror
	base   string
}

// at is the spec for the mirror. Its slug is the competition's, or the name of
// the zip file in a URL. Without either, the mirror cannot have it.
func (m *mirrored) at(spec Spec) (at Spec, ok bool) {
	at = Spec{URL: m.base, Slug: spec.Slug, MD5: spec.MD5, SHA256: spec.SHA256}
	if spec.Slug != "" {
		return at, true
	}
	u, err := url.Parse(spec.URL)
	if err != nil {
		return at, false
	}
	at.Slug, ok = strings.CutSuffix(path.Base(u.Path), ".zip")
	return at, ok && at.Slug != ""
}

// Check implements Source.
func (m *mirrored) Check(spec Spec) error {
	if err := m.Source.Check(spec); err != nil {
		return err
	}
	if at, ok := m.at(spec); ok {
		return m.mirror.Check(at)
	}
	return nil
}

// Fetch implements Source.
func (m *mirrored) Fetch(ctx context.Context, req Request) (Data, error) {
	from, ok := req, false
	if from.Spec, ok = m.at(req.Spec); !ok {
		return m.Source.Fetch(ctx, req)
	}
	data, err := m.mirror.Fetch(ctx, from)
	if err == nil || ctx.Err() != nil {
		return data, err
	}
	if errors.Is(err, ErrGone) || errors.Is(err, fs.ErrNotExist) {
		req.logf("the mirror has no %s.zip; fetching it from its origin", from.Spec.Slug)
	} else {
		req.logf("warning: %v; fetching it from its origin", err)
	}
	data, next := m.Source.Fetch(ctx, req)
	if errors.Is(next, ErrOffline) {
		next = fmt.Errorf("%w; %w", err, next)
	}
	return data, next
}

// Inspect implements Inspector.
func (m *mirrored) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	at, has := m.at(spec)
	var a Availability
	var err error
	if has {
		if a, err = m.mirror.Inspect(ctx, at); err == nil {
			a.Note = cmp.Or(a.Note, NoteMirror)
			return a, nil
		}
	}
	i, ok := m.Source.(Inspector)
	if !ok {
		return Availability{}, nil
	}
	a, next := i.Inspect(ctx, spec)
	if has && errors.Is(next, ErrOffline) {
		next = fmt.Errorf("%w; %w", err, next)
	}
	return a, next
}
