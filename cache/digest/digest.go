package digest

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Size is the length of every identity in bytes.
const Size = sha256.Size

// ContentID is the SHA-256 of a blob's bytes, or of a tree manifest's
// canonical encoding. The zero value means "no content".
type ContentID [Size]byte

// ActionID is the SHA-256 of an action's labelled inputs (see Hasher). The
// zero value means "no action".
type ActionID [Size]byte

// Of returns the identity of data.
func Of(data []byte) ContentID { return sha256.Sum256(data) }

// IsZero reports whether id is the zero value.
func (id ContentID) IsZero() bool { return id == ContentID{} }

// String returns 64 lower-case hexadecimal digits.
func (id ContentID) String() string { return hex.EncodeToString(id[:]) }

// Short returns the first 12 hexadecimal digits, for people.
func (id ContentID) Short() string { return hex.EncodeToString(id[:6]) }

// MarshalText implements encoding.TextMarshaler; the zero value is "".
func (id ContentID) MarshalText() ([]byte, error) { return marshal(id), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ContentID) UnmarshalText(text []byte) error {
	return unmarshal((*[Size]byte)(id), text)
}

// IsZero reports whether id is the zero value.
func (id ActionID) IsZero() bool { return id == ActionID{} }

// String returns 64 lower-case hexadecimal digits.
func (id ActionID) String() string { return hex.EncodeToString(id[:]) }

// Short returns the first 12 hexadecimal digits, for people.
func (id ActionID) Short() string { return hex.EncodeToString(id[:6]) }

// MarshalText implements encoding.TextMarshaler; the zero value is "".
func (id ActionID) MarshalText() ([]byte, error) { return marshal(id), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ActionID) UnmarshalText(text []byte) error {
	return unmarshal((*[Size]byte)(id), text)
}

// ParseContentID reads the 64 hexadecimal digits that String wrote.
func ParseContentID(s string) (ContentID, error) {
	var id ContentID
	err := parse((*[Size]byte)(&id), []byte(s))
	return id, err
}

// ParseActionID reads the 64 hexadecimal digits that String wrote.
func ParseActionID(s string) (ActionID, error) {
	var id ActionID
	err := parse((*[Size]byte)(&id), []byte(s))
	return id, err
}

func marshal(id [Size]byte) []byte {
	if id == [Size]byte{} {
		return nil
	}
	return hex.AppendEncode(nil, id[:])
}

func unmarshal(dst *[Size]byte, text []byte) error {
	if len(text) == 0 {
		*dst = [Size]byte{}
		return nil
	}
	return parse(dst, text)
}

func parse(dst *[Size]byte, text []byte) error {
	if len(text) != hex.EncodedLen(Size) {
		return fmt.Errorf("parse digest: %d characters, want %d hexadecimal digits", len(text), hex.EncodedLen(Size))
	}
	if _, err := hex.Decode(dst[:], text); err != nil {
		return fmt.Errorf("parse digest: %w", err)
	}
	return nil
}

// Writer computes the ContentID of the bytes written to it.
type Writer struct {
	h hash.Hash
	n int64
}

// NewWriter returns a Writer that has seen no bytes.
func NewWriter() *Writer { return &Writer{h: sha256.New()} }

// Write implements io.Writer; it never fails.
func (w *Writer) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return w.h.Write(p)
}

// Size returns the number of bytes written.
func (w *Writer) Size() int64 { return w.n }

// ID returns the identity of the bytes written so far.
func (w *Writer) ID() (id ContentID) {
	w.h.Sum(id[:0])
	return id
}

// MarshalBinary implements encoding.BinaryMarshaler. It encodes the state of
// the Writer, from which UnmarshalBinary continues. It is for short-lived use
// by the same program, not for exchange.
func (w *Writer) MarshalBinary() ([]byte, error) {
	data, err := w.h.(encoding.BinaryMarshaler).MarshalBinary()
	return binary.BigEndian.AppendUint64(data, uint64(w.n)), err
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (w *Writer) UnmarshalBinary(data []byte) error {
	if len(data) < 8 {
		return errors.New("restore digest: too short")
	}
	cut := len(data) - 8
	h := sha256.New()
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(data[:cut]); err != nil {
		return fmt.Errorf("restore digest: %w", err)
	}
	w.h, w.n = h, int64(binary.BigEndian.Uint64(data[cut:]))
	return nil
}

// Copy is io.Copy that also returns the identity of the copied bytes.
func Copy(dst io.Writer, src io.Reader) (ContentID, int64, error) {
	w := NewWriter()
	n, err := io.Copy(io.MultiWriter(dst, w), src)
	return w.ID(), n, err
}
