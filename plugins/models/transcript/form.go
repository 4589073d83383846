package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// mark identifies a request or the beginning of its conversation.
type mark [16]byte

// marker computes marks.
type marker struct{ h hash.Hash }

func newMarker() marker { return marker{sha256.New()} }

// of returns the mark of a sequence of fields.
func (m marker) of(fields ...[]byte) mark {
	m.h.Reset()
	var size [8]byte
	for _, f := range fields {
		binary.LittleEndian.PutUint64(size[:], uint64(len(f)))
		_, _ = m.h.Write(size[:])
		_, _ = m.h.Write(f)
	}
	var sum [sha256.Size]byte
	m.h.Sum(sum[:0])
	return mark(sum[:16])
}

// form is a request prepared for comparison by a Player.
type form struct {
	dialect.Canonical
	// route identifies provider, method, path and operation.
	route mark
	// exact identifies the whole request. normal[i] identifies its settings and
	// first i messages after normalisation, so the last element identifies the
	// whole request.
	exact  mark
	normal []mark
}

// whole returns the mark of the request after normalisation.
func (f *form) whole() mark { return f.normal[len(f.normal)-1] }

// former makes forms. It is not safe for concurrent use.
type former struct {
	canonical Canonical
	marker    marker
	rules     *normaliser
	// seen maps the marks of messages to those of their normalised forms.
	seen map[mark]mark
}

func newFormer(canonical Canonical, rules *normaliser) *former {
	return &former{canonical, newMarker(), rules, map[mark]mark{}}
}

// of returns the form of a request.
func (r *former) of(a Ask) *form {
	f := &form{route: r.marker.of([]byte(a.Provider), []byte(a.Method), []byte(a.Path), []byte(a.Operation))}
	var err error
	if f.Canonical, err = r.canonical(a.Provider, a.Operation, a.Body); err != nil {
		// A body without a canonical form is compared byte for byte.
		f.Canonical = dialect.Canonical{Fixed: a.Body}
	}
	start := r.marker.of(f.route[:], []byte(a.Asked))
	f.exact = r.marker.of(start[:], f.Fixed)
	fixed := r.normal("", f.Fixed)
	f.normal = append(make([]mark, 0, len(f.Parts)+1), r.marker.of(start[:], fixed[:]))
	for i, p := range f.Parts {
		f.exact = r.marker.of(f.exact[:], []byte(p.Role), p.Text)
		part := r.normal(p.Role, p.Text)
		f.normal = append(f.normal, r.marker.of(f.normal[i][:], part[:]))
	}
	return f
}

// normal returns the mark of a message after normalisation.
func (r *former) normal(role string, text []byte) mark {
	exact := r.marker.of([]byte(role), text)
	if role == assistant {
		return exact
	}
	if m, ok := r.seen[exact]; ok {
		return m
	}
	if len(r.seen) >= known {
		clear(r.seen)
	}
	m := r.marker.of([]byte(role), r.rules.apply(text))
	r.seen[exact] = m
	return m
}
