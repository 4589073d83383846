package table

import (
	"encoding/binary"
	"strings"
)

// introsortTexts returns the order of introsort for n strings. It compares
// integers instead, the keys or, if they are nil, some made of the bytes after the
// common prefix. The decisions are the same as long as different strings have
// different integers. If they do not, it starts again with the strings.
func introsortTexts(n int, text func(int) string, keys []uint64) []int32 {
	order := ascending(n)
	if n >= 1<<8 {
		if keys == nil {
			keys = textKeys(n, text)
		}
		if increasing(keys) {
			return order
		}
		introsort(keys, order)
		if !ambiguous(keys, order, text) {
			return order
		}
		order = ascending(n)
	}
	introsort(Collect(n, text), order)
	return order
}

// Collect returns the results of calling cell with 0 to n-1.
func Collect[T any](n int, cell func(int) T) []T {
	v := make([]T, n)
	for k := range v {
		v[k] = cell(k)
	}
	return v
}

func ascending(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// increasing reports whether each key is greater than the one before.
func increasing(keys []uint64) bool {
	for k := 1; k < len(keys); k++ {
		if keys[k-1] >= keys[k] {
			return false
		}
	}
	return true
}

// ambiguous reports whether different strings have one key.
func ambiguous(keys []uint64, order []int32, text func(int) string) bool {
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; keys[a] == keys[b] && text(int(a)) != text(int(b)) {
			return true
		}
	}
	return false
}

// textKeys returns the first eight bytes of the strings after their prefix.
func textKeys(n int, text func(int) string) []uint64 {
	keys := make([]uint64, n)
	if !setKeys(keys, text, commonPrefix(3, func(k int) string { return text(k * (n - 1) / 2) })) {
		setKeys(keys, text, commonPrefix(n, text))
	}
	return keys
}

// setKeys sets the keys to those of the bytes after the prefix. It returns false
// if some string does not begin with the prefix.
func setKeys(keys []uint64, text func(int) string, prefix string) bool {
	for k := range keys {
		rest, ok := strings.CutPrefix(text(k), prefix)
		if !ok {
			return false
		}
		keys[k] = byteKey(rest)
	}
	return true
}

// commonPrefix returns the longest prefix of all strings.
func commonPrefix(n int, text func(int) string) string {
	first := text(0)
	same := len(first)
	for k := 1; k < n; k++ {
		t := text(k)
		if same = min(same, len(t)); t[:same] == first[:same] {
			continue
		}
		for same = 0; t[same] == first[same]; {
			same++
		}
	}
	return first[:same]
}

// byteKey returns the first eight bytes, missing ones as 0.
func byteKey(text string) uint64 {
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}
