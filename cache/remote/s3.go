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
	"path"
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
	// maxSingle is the largest object that S3 takes in one request.
	maxSingle = 5 << 30
)

func (s *s3Objects) write(ctx context.Context, key string, size int64, create bool, body io.Reader) error {
	sum := "" // of the bytes, where that is the object's name
	if strings.HasPrefix(key, objectsName+"/") {
		sum = path.Base(key)
	}
	switch {
	case size > maxSingle, size > partBytes && (sum == "" || s.secure()):
		return s.upload(ctx, s.prefix+key, size, create, body)
	case sum == "":
		data := make([]byte, size)
		if _, err := io.ReadFull(body, data); err != nil {
			return err
		}
		sum, body = s.sum(data), bytes.NewReader(data)
	}
	opts := s.condition(create)
	opts.UserMetadata = s.headers
	opts.DisableContentSha256 = true // sum says it
	_, err := s.core.PutObject(ctx, s.bucket, s.prefix+key, body, size, "", sum, opts)
	return err
}

func (s *s3Objects) secure() bool { return s.core.EndpointURL().Scheme == "https" }

// condition makes a write fail if the object exists already.
func (s *s3Objects) condition(create bool) (opts minio.PutObjectOptions) {
	if create {
		opts.SetMatchETagExcept("*")
	}
	return opts
}

// sum returns the SHA-256 of a request's body, which is signed together with the
// request, so that the server rejects bytes that changed on the network. It is ""
// over TLS, which protects them itself.
func (s *s3Objects) sum(data []byte) string {
	if s.secure() {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// upload writes a large object in parts.
func (s *s3Objects) upload(ctx context.Context, name string, size int64, create bool, body io.Reader) error {
	id, err := s.core.NewMultipartUpload(ctx, s.bucket, name, minio.PutObjectOptions{UserMetadata: s.headers})
	if err != nil {
		return err
	}
	part := max(partBytes, size/maxParts+1)
	u := &upload{s: s, name: name, id: id, parts: make([]minio.CompletePart, (size+part-1)/part), free: make(chan []byte, partsAhead+1)}
	if err = u.send(ctx, part, size, body); err == nil {
		_, err = s.core.CompleteMultipartUpload(ctx, s.bucket, name, id, u.parts, s.condition(create))
	}
	if err != nil {
		// The upload's context may have ended, so it is not used here.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = s.core.AbortMultipartUpload(ctx, s.bucket, name, id) // otherwise the bucket's lifecycle rules remove it
	}
	return err
}

// upload is a large object that is being written.
type upload struct {
	s        *s3Objects
	name, id string
	parts    []minio.CompletePart
	free     chan []byte // buffers whose parts were sent
}

// send sends all parts, some of them while the next one is being read.
func (u *upload) send(ctx context.Context, part, size int64, body io.Reader) (err error) {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(partsAhead)
	for i := range u.parts {
		data := u.buffer(part)[:min(part, size-int64(i)*part)]
		if _, err = io.ReadFull(body, data); err != nil || inner.Err() != nil {
			break
		}
		group.Go(func() error { return u.sendPart(inner, i, data) })
	}
	if other := group.Wait(); err == nil {
		err = other
	}
	return err
}

func (u *upload) buffer(size int64) []byte {
	select {
	case data := <-u.free:
		return data
	default:
		return make([]byte, size)
	}
}

func (u *upload) sendPart(ctx context.Context, i int, data []byte) error {
	opts := minio.PutObjectPartOptions{Sha256Hex: u.s.sum(data), DisableContentSha256: true}
	part, err := u.s.core.PutObjectPart(ctx, u.s.bucket, u.name, u.id, i+1, bytes.NewReader(data), int64(len(data)), opts)
	u.parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: part.ETag}
	u.free <- data[:cap(data)]
	return err
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
