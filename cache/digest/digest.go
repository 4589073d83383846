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
	"strconv"
)

// Size is the length of every identity in bytes.
const Size = sha256.Size

// ID is a SHA-256. IDs of what differs in sort are different types. The zero value means
// "nothing".
type ID[Sort any] [Size]byte

type (
	content struct{}
	action  struct{}

	// ContentID is the SHA-256 of a blob's bytes, or of a tree manifest's canonical
	// encoding. The zero value means "no content".
	ContentID = ID[content]
	// ActionID is the SHA-256 of an action's labelled inputs (see Hasher). The zero value
	// means "no action".
	ActionID = ID[action]
)

// Of returns the identity of data.
func Of(data []byte) ContentID { return sha256.Sum256(data) }

// IsZero reports whether id is the zero value.
func (id ID[Sort]) IsZero() bool { return id == ID[Sort]{} }

// String returns 64 lower-case hexadecimal digits.
func (id ID[Sort]) String() string { return hex.EncodeToString(id[:]) }

// Short returns the first 12 hexadecimal digits, for people.
func (id ID[Sort]) Short() string { return hex.EncodeToString(id[:6]) }

// MarshalText implements encoding.TextMarshaler; the zero value is "".
func (id ID[Sort]) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return hex.AppendEncode(nil, id[:]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID[Sort]) UnmarshalText(text []byte) (err error) {
	if *id = (ID[Sort]{}); len(text) > 0 {
		*id, err = parse[Sort](text)
	}
	return err
}

// ParseContentID reads the 64 hexadecimal digits that String wrote.
func ParseContentID(s string) (ContentID, error) { return parse[content]([]byte(s)) }

// ParseActionID reads the 64 hexadecimal digits that String wrote.
func ParseActionID(s string) (ActionID, error) { return parse[action]([]byte(s)) }

func parse[Sort any](text []byte) (id ID[Sort], err error) {
	if len(text) != hex.EncodedLen(Size) {
		return id, fmt.Errorf("parse digest: %d characters, want %d hexadecimal digits", len(text), hex.EncodedLen(Size))
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return id, fmt.Errorf("parse digest: %w", err)
	}
	return id, nil
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

// Field is one labelled input of an action, kept to explain a changed key. Value is
// the string shown to people: the value itself if it is short, its digest if it is
// content.
type Field struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Hasher builds an ActionID from labelled fields. Each label and value is
// hashed with its length, so that no two field lists share an encoding. The
// order of the calls matters and must be fixed by the caller.
type Hasher struct {
	buf    []byte
	fields []Field
}

// NewHasher returns a Hasher salted with a step kind and the version of its
// behaviour.
func NewHasher(kind, version string) *Hasher {
	h := &Hasher{buf: make([]byte, 0, 512), fields: make([]Field, 0, 8)}
	h.buf = append(h.buf, header...)
	h.String("kind", kind)
	h.String("kind version", version)
	return h
}

// String adds a string field.
func (h *Hasher) String(label, value string) {
	h.buf = appendText(h.buf, label)
	h.buf = appendText(h.buf, value)
	h.fields = append(h.fields, Field{Label: label, Value: value})
}

// Int adds an integer field.
func (h *Hasher) Int(label string, value int64) { h.String(label, strconv.FormatInt(value, 10)) }

// Bool adds a boolean field.
func (h *Hasher) Bool(label string, value bool) { h.String(label, strconv.FormatBool(value)) }

// Content adds the identity of an input's content.
func (h *Hasher) Content(label string, id ContentID) { h.String(label, id.String()) }

// Fields returns the fields added so far, in order. The caller must not
// change them.
func (h *Hasher) Fields() []Field { return h.fields }

// header begins what is hashed.
const header = "mleflow action 1\n"

// KeyOf returns the identity of a Hasher with these fields.
func KeyOf(fields []Field) ActionID {
	h := Hasher{buf: []byte(header)}
	for _, f := range fields {
		h.String(f.Label, f.Value)
	}
	return h.Sum()
}

// Sum returns the identity of the fields added so far.
func (h *Hasher) Sum() ActionID { return sha256.Sum256(h.buf) }

func appendText(buf []byte, s string) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(s)))
	return append(buf, s...)
}
