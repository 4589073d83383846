package pyjson

import "slices"

// shapes finds the shapes of the objects that a parser reads: a tree in which
// every step is a name.
type shapes struct {
	names map[string]string // one copy of every name
	root  *node
	nodes int
}

// node is the names that an object has so far.
type node struct {
	names []string
	at    map[string]int // of large objects: the place of every name
	shape *shape
	last  string // the name that came last from here, and where it led
	to    *node
	place int
	next  map[string]*node
}

const (
	maxNames  = 1 << 16
	maxNodes  = 1 << 12
	maxShared = 64 // more names than these make a large object
)

// name returns the one copy of a name.
func (s *shapes) name(text []byte) string {
	if known, ok := s.names[string(text)]; ok {
		return known
	}
	name := string(text)
	if len(s.names) < maxNames {
		s.names[name] = name
	}
	return name
}

// start returns the node of an object without names.
func (s *shapes) start() *node {
	if s.root == nil {
		s.root = &node{}
	}
	return s.root
}

// add returns the node with one name more, and the name's place: a new last
// one, or that of an equal name.
func (s *shapes) add(n *node, name string) (*node, int) {
	if n.to != nil && n.last == name {
		return n.to, n.place
	}
	if place := n.find(name); place >= 0 {
		return n, place
	}
	if n.at != nil {
		n.push(name)
		return n, len(n.names) - 1
	}
	to := n.next[name]
	if to == nil {
		to = s.grow(n, name)
	}
	if to.at == nil {
		n.last, n.to, n.place = name, to, len(n.names)
	}
	return to, len(n.names)
}

// grow makes the node with one name more. Large objects, and those of files
// with too many kinds of objects, get a node of their own, which then grows in
// place.
func (s *shapes) grow(n *node, name string) *node {
	to := &node{names: append(slices.Clip(n.names), name)}
	if len(n.names) >= maxShared || s.nodes >= maxNodes {
		to.at = make(map[string]int, 2*maxShared)
		for i, name := range to.names {
			to.at[name] = i
		}
		return to
	}
	s.nodes++
	if n.next == nil {
		n.next = map[string]*node{}
	}
	n.next[name] = to
	return to
}

func (n *node) find(name string) int {
	if n.at == nil {
		return slices.Index(n.names, name)
	}
	if i, ok := n.at[name]; ok {
		return i
	}
	return -1
}

func (n *node) push(name string) {
	n.at[name] = len(n.names)
	n.names = append(n.names, name)
}

// end returns the shape of an object that ends here.
func (n *node) end() *shape {
	switch {
	case n.at != nil:
		return &shape{names: n.names, at: n.at}
	case n.shape == nil:
		n.shape = newShape(n.names)
	}
	return n.shape
}
