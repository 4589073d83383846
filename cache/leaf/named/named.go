// Package named holds the lists of what a process knows by name: step kinds,
// metrics, sources, runtimes and agents.
//
// A Set is written by programmers and never changes. It is a leaf package: it
// imports only the standard library.
package named

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of items of one sort with unique names.
type Set[T any] struct {
	noun   string
	byName map[string]T
	names  []string
}

// New returns a set of items; noun is the name of the items in errors. It panics if
// a name is empty or occurs twice, which is a programming error.
func New[T any](noun string, name func(T) string, things ...T) *Set[T] {
	s := &Set[T]{noun: noun, byName: make(map[string]T, len(things))}
	for _, thing := range things {
		n := name(thing)
		if _, twice := s.byName[n]; twice || n == "" {
			panic(fmt.Sprintf("%s %q is incomplete or registered twice", noun, n))
		}
		s.byName[n] = thing
		s.names = append(s.names, n)
	}
	slices.Sort(s.names)
	return s
}

// Names lists the names, sorted. The caller must not change the list.
func (s *Set[T]) Names() []string { return s.names }

// Get returns the item of that name, or an error that lists the existing names.
func (s *Set[T]) Get(name string) (T, error) {
	thing, ok := s.byName[name]
	if !ok {
		return thing, fmt.Errorf("no %s %q; there is %s", s.noun, name, strings.Join(s.names, ", "))
	}
	return thing, nil
}

// List returns the items, sorted by name.
func (s *Set[T]) List() []T {
	list := make([]T, len(s.names))
	for i, name := range s.names {
		list[i] = s.byName[name]
	}
	return list
}
