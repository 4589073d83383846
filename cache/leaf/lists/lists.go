// Package lists makes lists, maps and sums from lists.
//
// It is a leaf package: it imports only the standard library.
package lists

import (
	"cmp"
	"maps"
	"slices"
)

// Of returns the result of a function for each element of a list, in the order of the list.
func Of[T, U any](list []T, of func(T) U) []U {
	out := make([]U, len(list))
	for i, element := range list {
		out[i] = of(element)
	}
	return out
}

// OfMap returns the result of a function for each entry of a map, in the order of the keys.
func OfMap[K cmp.Ordered, V, U any](m map[K]V, of func(K, V) U) []U {
	return Of(slices.Sorted(maps.Keys(m)), func(key K) U { return of(key, m[key]) })
}

// Where returns the elements for which a function holds; nil if there are none.
func Where[T any](list []T, holds func(T) bool) (some []T) {
	for _, element := range list {
		if holds(element) {
			some = append(some, element)
		}
	}
	return some
}

// Each calls a function with each element until it fails, and returns its error.
func Each[T any](list []T, do func(T) error) error {
	for _, element := range list {
		if err := do(element); err != nil {
			return err
		}
	}
	return nil
}

// Sum adds the results of a function for each element.
func Sum[T any, N ~int | ~int64](list []T, of func(T) N) (sum N) {
	for _, element := range list {
		sum += of(element)
	}
	return sum
}

// Set returns the elements as the keys of a map.
func Set[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, element := range list {
		set[element] = true
	}
	return set
}

// Grouped returns the items with equal keys, in the order of the first of them.
func Grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	index := map[K]int{}
	for _, it := range list {
		k := key(it)
		at, known := index[k]
		if !known {
			at = len(groups)
			index[k], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], it)
	}
	return groups
}

// By groups items by key; each group is in the order of the items.
func By[T any, K comparable](list []T, key func(T) K) map[K][]T {
	groups := map[K][]T{}
	for _, it := range list {
		k := key(it)
		groups[k] = append(groups[k], it)
	}
	return groups
}
