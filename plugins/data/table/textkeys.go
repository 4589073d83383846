package table

import "encoding/binary"

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
	introsort(collect(n, text), order)
	return order
}

func collect[T any](n int, cell func(int) T) []T {
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

// textKeys returns the strings' keys.
func textKeys(n int, text func(int) string) []uint64 {
	keys := make([]uint64, n)
	some := commonPrefix(3, func(k int) string { return text(k * (n - 1) / 2) })
	if setKeys(keys, text, some, hexKey) || setKeys(keys, text, some, byteKey) {
		return keys
	}
	all := commonPrefix(n, text)
	if !setKeys(keys, text, all, hexKey) {
		setKeys(keys, text, all, byteKey)
	}
	return keys
}

// setKeys sets the keys to those of the bytes after the prefix. It returns false
// if some string does not begin with the prefix, or has no key.
func setKeys(keys []uint64, text func(int) string, prefix string, key func(string) (uint64, bool)) bool {
	for k := range keys {
		t := text(k)
		if len(t) < len(prefix) || t[:len(prefix)] != prefix {
			return false
		}
		var ok bool
		if keys[k], ok = key(t[len(prefix):]); !ok {
			return false
		}
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
func byteKey(text string) (uint64, bool) {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64([]byte(text[:8])), true
	}
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:]), true
}

// hexKey returns the first sixteen hexadecimal digits, if there are so many:
// identifiers often are nothing else.
func hexKey(text string) (key uint64, ok bool) {
	if len(text) < 16 {
		return 0, false
	}
	for _, c := range []byte(text[:16]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		key = key<<4 | uint64(c)
	}
	return key, true
}
