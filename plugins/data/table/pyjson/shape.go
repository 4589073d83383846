package pyjson

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// A shape is the names of an object in order. Objects with the same names share
// one, so that a million records cost their values only.
type shape struct {
	names []string
	at    map[string]int // of large objects: the place of every name

	sorted  atomic.Pointer[[]int]      // the places by name
	derived atomic.Pointer[derivation] // the last one asked for
}

var noNames = newShape(nil)

// smallObject is how many names are searched one by one.
const smallObject = 16

func newShape(names []string) *shape {
	s := &shape{names: names}
	if len(names) > smallObject {
		s.at = make(map[string]int, len(names))
		for i, name := range names {
			s.at[name] = i
		}
	}
	return s
}

// find returns the place of a name, -1 if there is none.
func (s *shape) find(name string) int {
	if s.at == nil {
		return slices.Index(s.names, name)
	}
	if i, ok := s.at[name]; ok {
		return i
	}
	return -1
}

// byName returns the places in the order of the names.
func (s *shape) byName() []int {
	if known := s.sorted.Load(); known != nil {
		return *known
	}
	places := table.Collect(len(s.names), func(i int) int { return i })
	slices.SortFunc(places, func(i, j int) int { return strings.Compare(s.names[i], s.names[j]) })
	s.sorted.Store(&places)
	return places
}

// change is a way to make an object of another one.
type change uint8

const (
	setMembers change = iota
	selectMembers
	dropMembers
)

// A derivation is the shape that a change gives, and where its values come
// from: the place i of the old object, or as -1-k the k-th new member.
type derivation struct {
	how   change
	names []string
	shape *shape
	from  []int
}

// derive returns a derivation of the shape. That of the record before is kept,
// since most records are changed alike.
func (s *shape) derive(how change, names []string) *derivation {
	if d := s.derived.Load(); d != nil && d.how == how && slices.Equal(d.names, names) {
		return d
	}
	d := &derivation{how: how, names: slices.Clone(names)}
	switch how {
	case setMembers:
		d.set(s)
	case selectMembers:
		d.keep(s, func(name string) bool { return true }, names)
	case dropMembers:
		d.keep(s, func(name string) bool { return !slices.Contains(names, name) }, s.names)
	}
	s.derived.Store(d)
	return d
}

// keep takes over those of the names that the old shape has, each once.
func (d *derivation) keep(old *shape, want func(string) bool, names []string) {
	var kept []string
	done := make([]bool, len(old.names))
	for _, name := range names {
		if i := old.find(name); i >= 0 && want(name) && !done[i] {
			done[i] = true
			kept = append(kept, name)
			d.from = append(d.from, i)
		}
	}
	d.shape = newShape(kept)
}

// set puts new members in their places or at the end.
func (d *derivation) set(old *shape) {
	all := slices.Clone(old.names)
	for i := range all {
		d.from = append(d.from, i)
	}
	added := map[string]int{}
	for k, name := range d.names {
		i := old.find(name)
		if at, ok := added[name]; ok {
			i = at
		}
		if i < 0 {
			i = len(all)
			added[name] = i
			all = append(all, name)
			d.from = append(d.from, 0)
		}
		d.from[i] = -1 - k
	}
	d.shape = old
	if len(all) > len(old.names) {
		d.shape = newShape(all)
	}
}

// shapes finds the shapes of the objects that a parser reads.
type shapes struct {
	list  []string          // the names so far
	ids   map[string]uint32 // the places in list of the first of them
	known map[string]layout // by the ids of the names, in order
}

// layout is the shape of an object, and the places in it of the members as they
// are written; nil if no name comes twice.
type layout struct {
	shape  *shape
	places []int
}

const (
	maxNames  = 1 << 16
	maxShapes = 1 << 12
	maxShared = 64 // an object of more names has a shape of its own
)

func newShapes() shapes {
	return shapes{ids: map[string]uint32{}, known: map[string]layout{"": {shape: noNames}}}
}

// name returns the number of a name.
func (s *shapes) name(text []byte) uint32 {
	if id, ok := s.ids[string(text)]; ok {
		return id
	}
	id, name := uint32(len(s.list)), string(text)
	s.list = append(s.list, name)
	if id < maxNames {
		s.ids[name] = id
	}
	return id
}

// of returns the layout of an object with these names, four bytes each.
func (s *shapes) of(ids []byte) layout {
	if l, ok := s.known[string(ids)]; ok {
		return l
	}
	n := len(ids) / 4
	names, at, places := make([]string, 0, n), make(map[string]int, n), make([]int, n)
	for i := range places {
		name := s.list[binary.LittleEndian.Uint32(ids[4*i:])]
		place, twice := at[name]
		if !twice {
			place = len(names)
			at[name] = place
			names = append(names, name)
		}
		places[i] = place
	}
	l := layout{shape: &shape{names: names}}
	if len(names) > smallObject {
		l.shape.at = at
	}
	if len(names) < n {
		l.places = places
	}
	if n <= maxShared && len(s.known) < maxShapes {
		s.known[string(ids)] = l
	}
	return l
}

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

// carve returns n elements of memory, which is allocated in pieces of at least and at most
// so many, each twice as large as the last one.
func carve[T any](memory *[]T, piece *int, n, least, most int) []T {
	if n > len(*memory) {
		*piece = min(max(2**piece, least, n), most)
		*memory = make([]T, *piece)
	}
	out := (*memory)[:n:n]
	*memory = (*memory)[n:]
	return out
}

func (r *arena) box() *box { return &carve(&r.boxes, &r.boxPiece, 1, firstPiece, maxPiece)[0] }

// items returns a copy of the values.
func (r *arena) items(v []Value) []Value {
	switch n := len(v); {
	case n == 0:
		return nil
	case n > maxPiece/8:
		return slices.Clone(v)
	}
	out := carve(&r.values, &r.valuePiece, len(v), firstPiece, maxPiece)
	copy(out, v)
	return out
}

// text returns a copy of the bytes as a string.
func (r *arena) text(s []byte) string {
	switch n := len(s); {
	case n == 0:
		return ""
	case n > maxBytes/8:
		return string(s)
	}
	out := carve(&r.bytes, &r.bytePiece, len(s), 16*firstPiece, maxBytes)
	copy(out, s)
	return unsafe.String(&out[0], len(out))
}
