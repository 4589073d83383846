package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// s3Objects is a bucket of S3, or of a server with the same protocol.
type s3Objects struct {
	core           *minio.Core
	transport      *http.Transport
	bucket, prefix string
	// headers are sent with every object that is written.
	headers map[string]string
}

func (s *s3Objects) stat(ctx context.Context, key string) (int64, error) {
	info, err := s.core.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	return info.Size, err
}

func (s *s3Objects) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	var opts minio.GetObjectOptions
	part := offset > 0 || length >= 0
	switch {
	case length >= 0:
		opts.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case part:
		opts.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	r, info, header, err := s.core.GetObject(ctx, s.bucket, s.prefix+key, opts)
	if err != nil || !part {
		return r, info.Size, err
	}
	whole, err := wholeSize(header.Get("Content-Range"), offset)
	if err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	return r, whole, nil
}

// wholeSize parses "bytes 5-9/100". The first number must be the requested
// offset: a server that ignores ranges returns other bytes.
func wholeSize(text string, offset int64) (int64, error) {
	where, size, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, _ := strings.Cut(where, "-")
	whole, err := strconv.ParseInt(size, 10, 64)
	if err != nil || first != strconv.FormatInt(offset, 10) {
		return 0, fmt.Errorf("requested bytes from %d on, but the server returned Content-Range %q", offset, text)
	}
	return whole, nil
}

// partBytes is the smallest size of a part of a large upload, maxParts the most
// parts that are used, and partsAhead how many parts of an upload are sent at a
// time. S3 demands at least 5 MiB per part and at most 10,000 parts.
const (
	partBytes  = 8 << 20
	maxParts   = 9000
	partsAhead = 2
)

func (s *s3Objects) write(ctx context.Context, key string, size int64, create bool, fill func(io.Writer) error) error {
	if size > partBytes {
		return s.upload(ctx, s.prefix+key, max(partBytes, size/maxParts+1), create, fill)
	}
	var data bytes.Buffer
	data.Grow(int(size))
	if err := fill(&data); err != nil {
		return err
	}
	opts := s.condition(create)
	opts.UserMetadata = s.headers
	opts.DisableContentSha256 = true // known
	_, err := s.core.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(data.Bytes()), int64(data.Len()), "", sha256Hex(data.Bytes()), opts)
	return err
}

// condition makes a write fail if the object exists already.
func (s *s3Objects) condition(create bool) (opts minio.PutObjectOptions) {
	if create {
		opts.SetMatchETagExcept("*")
	}
	return opts
}

// sha256Hex is signed together with the request, so that the server rejects
// bytes that changed on the network.
func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// upload writes a large object in parts.
func (s *s3Objects) upload(ctx context.Context, name string, part int64, create bool, fill func(io.Writer) error) error {
	id, err := s.core.NewMultipartUpload(ctx, s.bucket, name, minio.PutObjectOptions{UserMetadata: s.headers})
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(partsAhead)
	u := &upload{s: s, ctx: inner, group: group, name: name, id: id, part: make([]byte, 0, part), free: make(chan []byte, partsAhead+1)}
	err = fill(u)
	if err == nil {
		u.send()
	}
	if other := group.Wait(); other != nil { // which may also be why fill failed
		err = other
	}
	if err == nil {
		_, err = s.core.CompleteMultipartUpload(ctx, s.bucket, name, id, u.parts(), s.condition(create))
	}
	if err != nil {
		// The upload's context may have ended, so it is not used here.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.core.AbortMultipartUpload(ctx, s.bucket, name, id) // otherwise the bucket's lifecycle rules remove it
	}
	return err
}

// upload splits what is written to it into parts and sends them.
type upload struct {
	s        *s3Objects
	ctx      context.Context // of the one call of s3Objects.upload
	group    *errgroup.Group
	name, id string
	part     []byte      // is being filled
	free     chan []byte // were sent
	sent     []*minio.CompletePart
}

func (u *upload) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if err := u.ctx.Err(); err != nil {
			return n, err
		}
		fits := min(len(p)-n, cap(u.part)-len(u.part))
		u.part = append(u.part, p[n:n+fits]...)
		n += fits
		if len(u.part) == cap(u.part) {
			u.send()
		}
	}
	return n, nil
}

// send sends the filled part while the next one is being filled.
func (u *upload) send() {
	if len(u.part) == 0 {
		return
	}
	data, done := u.part, &minio.CompletePart{PartNumber: len(u.sent) + 1}
	u.sent = append(u.sent, done)
	u.group.Go(func() error {
		opts := minio.PutObjectPartOptions{Sha256Hex: sha256Hex(data), DisableContentSha256: true}
		part, err := u.s.core.PutObjectPart(u.ctx, u.s.bucket, u.name, u.id, done.PartNumber, bytes.NewReader(data), int64(len(data)), opts)
		done.ETag = part.ETag
		u.free <- data[:0]
		return err
	})
	select {
	case u.part = <-u.free:
	default:
		u.part = make([]byte, 0, cap(data))
	}
}

// parts returns the parts once all of them are sent.
func (u *upload) parts() []minio.CompletePart {
	list := make([]minio.CompletePart, len(u.sent))
	for i, part := range u.sent {
		list[i] = *part
	}
	return list
}

func (s *s3Objects) remove(ctx context.Context, key string) error {
	return s.core.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
}

// listed is the number of names that a server returns at a time.
const listed = 1000

func (s *s3Objects) list(ctx context.Context, prefix, after string, fn func(key string)) (bool, error) {
	opts := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, MaxKeys: listed}
	if after != "" {
		opts.StartAfter = s.prefix + after
	}
	n := 0
	for info := range s.core.ListObjectsIter(ctx, s.bucket, opts) {
		if info.Err != nil {
			return true, info.Err
		}
		fn(strings.TrimPrefix(info.Key, s.prefix))
		if n++; n == listed {
			return true, nil
		}
	}
	return false, ctx.Err() // an iteration that is cancelled ends early
}

func (s *s3Objects) close() { s.transport.CloseIdleConnections() }
