package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

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
