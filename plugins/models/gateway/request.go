package gateway

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// sameKey compares keys in constant time.
func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// read returns the complete, decoded body. Its bytes count against the shared
// memory for request bodies.
func (x *exchange) read() ([]byte, error) {
	size := x.r.ContentLength
	if size > maxBody {
		return nil, tooLarge()
	}
	if size < 0 || x.r.Header.Get("Content-Encoding") != "" {
		size = maxBody
	}
	if err := x.gateway.bodies.Acquire(x.r.Context(), size); err != nil {
		x.event.Gone = true
		return nil, unread(err)
	}
	x.body = size
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := x.decode(http.MaxBytesReader(nil, x.r.Body, maxBody))
	if spare := x.body - int64(len(body)); spare > 0 {
		x.gateway.bodies.Release(spare)
		x.body -= spare
	}
	return body, err
}

func (x *exchange) decode(src io.Reader) ([]byte, error) {
	if encoding := encodingOf(x.r.Header); encoding != "" && encoding != "identity" {
		open := decoders[encoding]
		if open == nil {
			return nil, &dialect.Refusal{Reason: dialect.BadRequest, Text: fmt.Sprintf("The request's Content-Encoding %q is not understood; send it plain, with gzip or with zstd.", encoding)}
		}
		z, err := open(src)
		if err != nil {
			return nil, unread(err)
		}
		src = io.LimitReader(z, maxBody+1)
		x.event.Changed = append(x.event.Changed, "content-encoding")
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max(x.r.ContentLength, 0), maxBody)) + bytes.MinRead)
	_, err := buf.ReadFrom(src)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) || buf.Len() > maxBody:
		return nil, tooLarge()
	case err != nil:
		x.event.Gone = x.r.Context().Err() != nil
		return nil, unread(err)
	}
	return buf.Bytes(), nil
}

// decoders are the content encodings that are understood.
var decoders = map[string]func(io.Reader) (io.Reader, error){"gzip": openGzip, "x-gzip": openGzip, "zstd": archive.ReadZstd}

func openGzip(packed io.Reader) (io.Reader, error) { return gzip.NewReader(packed) }

// encodingOf returns the content encoding of a message.
func encodingOf(h http.Header) string {
	return strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ",")))
}

func tooLarge() error {
	return &dialect.Refusal{Reason: dialect.TooLarge, Text: fmt.Sprintf("The request has more than %d MiB.", maxBody>>20)}
}

// unread is the refusal of a request that did not arrive completely.
func unread(err error) error {
	return &dialect.Refusal{Reason: dialect.BadRequest, Text: "The request cannot be read: " + err.Error()}
}

// outgoing adds the accepted content encodings to the forwarded headers. It
// keeps only encodings that the gateway can decode.
func outgoing(passed, in http.Header) http.Header {
	out := passed.Clone()
	if out == nil {
		out = http.Header{}
	}
	out["Accept-Encoding"] = []string{"identity"}
	encodings := strings.ToLower(strings.Join(in["Accept-Encoding"], ","))
	for one := range strings.SplitSeq(encodings, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if name == "gzip" && weight != "q=0" {
			out["Accept-Encoding"] = []string{"gzip"}
		}
	}
	return out
}
