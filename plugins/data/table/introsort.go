package table

import (
	"cmp"
	"math/bits"
)

const smallSort = 15 // places less one

// introsort sorts order by the values it points at, leaving equal ones where
// numpy's argsort (npy_aquicksort) leaves them: quicksort with the median of
// three as pivot, the smaller part first, insertion sort for at most 16 places
// and heapsort once the depth exceeds twice the logarithm of the length.
func introsort[T cmp.Ordered](v []T, order []int32) {
	type span struct{ lo, hi, depth int }
	if len(order) < 2 {
		return
	}
	todo := []span{{0, len(order) - 1, 2 * (bits.Len(uint(len(order))) - 1)}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.depth < 0 {
			heapsort(v, order[s.lo:s.hi+1])
			continue
		}
		for s.hi-s.lo > smallSort {
			p := partition(v, order, s.lo, s.hi)
			s.depth--
			if p-s.lo < s.hi-p {
				todo = append(todo, span{p + 1, s.hi, s.depth})
				s.hi = p - 1
			} else {
				todo = append(todo, span{s.lo, p - 1, s.depth})
				s.lo = p + 1
			}
		}
		insertionSort(v, order, s.lo, s.hi)
	}
}

// partition moves the median of three of order[lo:hi+1] to its final place,
// which it returns, smaller values before and larger ones behind it.
func partition[T cmp.Ordered](v []T, order []int32, lo, hi int) int {
	mid := lo + (hi-lo)>>1
	if v[order[mid]] < v[order[lo]] {
		order[mid], order[lo] = order[lo], order[mid]
	}
	if v[order[hi]] < v[order[mid]] {
		order[hi], order[mid] = order[mid], order[hi]
	}
	if v[order[mid]] < v[order[lo]] {
		order[mid], order[lo] = order[lo], order[mid]
	}
	pivot := v[order[mid]]
	i, j := lo, hi-1
	order[mid], order[j] = order[j], order[mid]
	for {
		for i++; v[order[i]] < pivot; i++ {
		}
		for j--; pivot < v[order[j]]; j-- {
		}
		if i >= j {
			break
		}
		order[i], order[j] = order[j], order[i]
	}
	order[i], order[hi-1] = order[hi-1], order[i]
	return i
}

func insertionSort[T cmp.Ordered](v []T, order []int32, lo, hi int) {
	for i := lo + 1; i <= hi; i++ {
		x := order[i]
		j := i
		for ; j > lo && v[x] < v[order[j-1]]; j-- {
			order[j] = order[j-1]
		}
		order[j] = x
	}
}

func heapsort[T cmp.Ordered](v []T, order []int32) {
	n := len(order)
	for l := n / 2; l > 0; l-- {
		siftDown(v, order[:n], l, order[l-1])
	}
	for n > 1 {
		x := order[n-1]
		order[n-1] = order[0]
		n--
		siftDown(v, order[:n], 1, x)
	}
}

// siftDown puts x into the heap at place i, counted from one.
func siftDown[T cmp.Ordered](v []T, heap []int32, i int, x int32) {
	for j := 2 * i; j <= len(heap); j *= 2 {
		if j < len(heap) && v[heap[j-1]] < v[heap[j]] {
			j++
		}
		if !(v[x] < v[heap[j-1]]) {
			break
		}
		heap[i-1] = heap[j-1]
		i = j
	}
	heap[i-1] = x
}
