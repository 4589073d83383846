// Package named holds the lists of what a process knows by name: step kinds,
// metrics, sources, runtimes and agents.
//
// A Set is written by programmers and never changes. It is a leaf: the
// standard library only.
package named

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of things of one sort, each under a name of its own.
type Set[T any] struct {
	noun   string
	byName map[string]T
	names  []string
}

// New returns the set of the given things; noun says in errors what they are.
// It panics when a name is empty or occurs twice, which only a mistake in the
// program can cause.
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

// Get returns the thing of that name, or an error that lists what there is.
func (s *Set[T]) Get(name string) (T, error) {
	thing, ok := s.byName[name]
	if !ok {
		return thing, fmt.Errorf("no %s %q; there is %s", s.noun, name, strings.Join(s.names, ", "))
	}
	return thing, nil
}

// List returns the things, sorted by name.
func (s *Set[T]) List() []T {
	list := make([]T, len(s.names))
	for i, name := range s.names {
		list[i] = s.byName[name]
	}
	return list
}
