package pyjson

import "unsafe"

// arena allocates the values of a parser in pieces that grow, so that
// a million records are few allocations. A piece lives as long as anything in
// it.
type arena struct {
	boxes  []box
	values []Value
	bytes  []byte

	boxPiece, valuePiece, bytePiece int // the size of the last piece
}

const (
	firstPiece = 8
	maxPiece   = 1 << 10
	maxBytes   = 1 << 16
)

func (r *arena) box() *box {
	if len(r.boxes) == 0 {
		r.boxPiece = min(max(2*r.boxPiece, firstPiece), maxPiece)
		r.boxes = make([]box, r.boxPiece)
	}
	b := &r.boxes[0]
	r.boxes = r.boxes[1:]
	return b
}

// items returns a copy of the values.
func (r *arena) items(v []Value) []Value {
	n := len(v)
	switch {
	case n == 0:
		return nil
	case n > maxPiece/8:
		out := make([]Value, n)
		copy(out, v)
		return out
	case n > len(r.values):
		r.valuePiece = min(max(2*r.valuePiece, firstPiece, n), maxPiece)
		r.values = make([]Value, r.valuePiece)
	}
	out := r.values[:n:n]
	copy(out, v)
	r.values = r.values[n:]
	return out
}

// text returns a copy of the bytes as a string.
func (r *arena) text(s []byte) string {
	n := len(s)
	switch {
	case n == 0:
		return ""
	case n > maxBytes/8:
		return string(s)
	case n > len(r.bytes):
		r.bytePiece = min(max(2*r.bytePiece, 16*firstPiece, n), maxBytes)
		r.bytes = make([]byte, r.bytePiece)
	}
	copy(r.bytes, s)
	out := unsafe.String(&r.bytes[0], n)
	r.bytes = r.bytes[n:]
	return out
}
