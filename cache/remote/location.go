package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Location is the place of a remote cache. The zero value means no remote cache.
type Location struct {
	u  *url.URL
	s3 s3Options
	// ReadOnly forbids writes.
	ReadOnly bool
}

// schemes are the kinds of stores, with an example of each.
var schemes = map[string]string{
	"s3":   "s3://bucket/prefix?region=eu-central-1",
	"gs":   "gs://bucket/prefix",
	"file": "file:///folder",
}

// secretWords occur in the names of parameters that hold secrets, which do not
// belong in a URL.
var secretWords = []string{"secret", "password", "token", "signature", "access_key", "accesskey", "credential"}

// ParseLocation reads the URL of a remote cache: scheme, bucket, prefix and the
// options of the scheme, or the absolute path of a folder. The option mode=read
// opens it for reading only.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse is not used: it quotes the whole URL, which may hold
		// secrets.
		return Location{}, errors.New("the address of the remote cache is not a URL; write for example " + schemes["s3"])
	}
	if u.Scheme == "" && path.IsAbs(u.Path) {
		u.Scheme = "file"
	}
	l := Location{u: u}
	if u.User != nil {
		return Location{}, fmt.Errorf("remote cache %s: the URL must not contain a user or password; credentials come from the environment", l)
	}
	if err := l.checkScheme(); err != nil {
		return Location{}, err
	}
	q := u.Query()
	switch mode := q.Get("mode"); mode {
	case "read":
		l.ReadOnly = true
	case "", "read-write":
	default:
		return Location{}, fmt.Errorf("remote cache %s: mode is %q; it must be read or read-write", l, mode)
	}
	q.Del("mode")
	for name := range q {
		if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(strings.ToLower(name), w) }) {
			return Location{}, fmt.Errorf("remote cache %s: %s looks like a secret, which does not belong in a URL; credentials come from the environment", l, name)
		}
	}
	u.RawQuery = q.Encode()
	if l.s3, err = parseOptions(u.Scheme, q); err != nil {
		return Location{}, fmt.Errorf("remote cache %s: %w", l, err)
	}
	return l, nil
}

func (l Location) checkScheme() error {
	example, ok := schemes[l.u.Scheme]
	switch {
	case l.u.Scheme == "azblob":
		return fmt.Errorf("remote cache %s: Azure Blob Storage is no longer supported; use an S3 gateway such as versitygw azure, "+
			"and write s3://container/prefix?endpoint=…, or mount it (blobfuse2) and write the folder, such as /mnt/container/prefix", l)
	case !ok:
		return fmt.Errorf("remote cache %s: the scheme %q is not one of s3, gs, file; write for example %s", l, l.u.Scheme, schemes["s3"])
	case l.u.Scheme == "file":
		if l.u.Host != "" || !path.IsAbs(l.u.Path) {
			return fmt.Errorf("remote cache %s: an absolute path is expected, such as %s", l, example)
		}
	case l.u.Host == "":
		return fmt.Errorf("remote cache %s: the bucket is missing; write for example %s", l, example)
	}
	return nil
}

// IsZero reports whether l is the zero value.
func (l Location) IsZero() bool { return l.u == nil }

// String returns the URL without its options.
func (l Location) String() string {
	if l.u == nil {
		return "none"
	}
	bare := url.URL{Scheme: l.u.Scheme, Host: l.u.Host, Path: l.u.Path}
	return bare.String()
}

// Server returns the host and port of the store, or "" for a folder.
func (l Location) Server() string {
	if l.u == nil || l.u.Scheme == "file" {
		return ""
	}
	u := l.s3.resolved().server()
	if u.Port() != "" {
		return u.Host
	}
	port := "443"
	if u.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// id identifies a location, for the name of a folder. The endpoint is part of
// it: two servers may have buckets of the same name.
func (l Location) id() string {
	return digest.Of([]byte(l.String() + "\n" + l.u.Query().Get("endpoint"))).String()[:16]
}

// anyones reports whether it is a folder to which every user may write.
func (l Location) anyones() bool {
	info, err := os.Stat(filepath.FromSlash(l.u.Path))
	return l.u.Scheme == "file" && err == nil && info.Mode()&0o002 != 0
}

// open connects. It sends no request yet, but fails early without credentials.
func (l Location) open(ctx context.Context) (objects, error) {
	if l.u.Scheme == "file" {
		return openFolder(filepath.FromSlash(l.u.Path), l.ReadOnly)
	}
	prefix := strings.Trim(l.u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return l.s3.open(ctx, l.u.Host, prefix)
}

// objects is a connection to a bucket. Each method makes one attempt. A missing
// object is cache.ErrNotFound, or an error that classify recognises as such. It
// is safe for concurrent use.
type objects interface {
	// stat returns the size of an object.
	stat(ctx context.Context, key string) (int64, error)
	// open reads an object from an offset on, to its end if length is negative.
	// whole is the size of the whole object.
	open(ctx context.Context, key string, offset, length int64) (r io.ReadCloser, whole int64, err error)
	// write stores the size bytes of body, and nothing if body fails. With create, it
	// fails if the object exists already.
	write(ctx context.Context, key string, size int64, create bool, body io.Reader) error
	// remove deletes an object.
	remove(ctx context.Context, key string) error
	// list calls fn with the names that start with prefix and sort after another
	// one, in order, and reports whether there may be more.
	list(ctx context.Context, prefix, after string, fn func(key string)) (more bool, err error)
	// close closes idle connections.
	close()
}

// Objects reads single objects of a Location, each with one attempt. It is safe
// for concurrent use.
type Objects struct{ conn objects }

// OpenObjects connects to a location.
func OpenObjects(ctx context.Context, loc Location) (*Objects, error) {
	conn, err := loc.open(ctx)
	if err != nil {
		return nil, masked(err)
	}
	return &Objects{conn}, nil
}

// Size returns the length of an object; a missing one is fs.ErrNotExist.
func (r *Objects) Size(ctx context.Context, name string) (int64, error) {
	size, err := r.conn.stat(ctx, name)
	return size, r.error(ctx, err)
}

// Read reads an object from an offset on; a missing one is fs.ErrNotExist.
func (r *Objects) Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	body, _, err := r.conn.open(ctx, name, offset, -1)
	return body, r.error(ctx, err)
}

// Close closes the connection.
func (r *Objects) Close() error {
	r.conn.close()
	return nil
}

// error turns a driver's error into one of this package.
func (r *Objects) error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, err = classify(ctx, err); errors.Is(err, cache.ErrNotFound) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
