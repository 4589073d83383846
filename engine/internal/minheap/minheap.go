// Package minheap keeps elements so that the least one is found quickly. Unlike
// container/heap it allocates nothing for an element.
package minheap

// Heap is a heap in the order of a function.
type Heap[T any] struct {
	items []T
	less  func(a, b T) bool
}

// New returns a heap without elements. The order must be total.
func New[T any](less func(a, b T) bool) *Heap[T] { return &Heap[T]{less: less} }

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.items) }

// Least returns the least element, which must exist.
func (h *Heap[T]) Least() T { return h.items[0] }

// Push adds an element.
func (h *Heap[T]) Push(v T) {
	h.items = append(h.items, v)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.less(v, h.items[up]) {
			break
		}
		h.items[i], i = h.items[up], up
	}
	h.items[i] = v
}

// Pop removes the least element, which must exist.
func (h *Heap[T]) Pop() T {
	last := len(h.items) - 1
	top, v, s := h.items[0], h.items[last], h.items[:last]
	clear(h.items[last:])
	h.items = s
	if last == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if down+1 < len(s) && h.less(s[down+1], s[down]) {
			down++
		}
		if !h.less(s[down], v) {
			break
		}
		s[i], i = s[down], down
	}
	s[i] = v
	return top
}
