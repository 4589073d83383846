package pyjson

import "encoding/binary"

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
	return shapes{ids: map[string]uint32{}, known: map[string]layout{}}
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
