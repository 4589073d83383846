package pyjson

import (
	"slices"
	"strings"
	"sync/atomic"
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
	places := make([]int, len(s.names))
	for i := range places {
		places[i] = i
	}
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
