package table

import "encoding/binary"

// introsortTexts is introsort for strings. It compares integers in their place,
// made of the bytes behind what all strings begin with, which takes the same
// decisions as long as different strings have different numbers; where they
// turn out not to, it starts again with the strings.
func introsortTexts(v []string, order []int32) {
	if len(v) < 1<<8 {
		introsort(v, order)
		return
	}
	skip := commonPrefix(v)
	keys := make([]uint64, len(v))
	if !hexKeys(v, skip, keys) {
		for i, text := range v {
			keys[i] = byteKey(text[skip:])
		}
	}
	introsort(keys, order)
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; keys[a] == keys[b] && v[a] != v[b] {
			for i := range order {
				order[i] = int32(i)
			}
			introsort(v, order)
			return
		}
	}
}

// commonPrefix returns the length of what all strings begin with.
func commonPrefix(v []string) int {
	n := len(v[0])
	for _, text := range v[1:] {
		if n = min(n, len(text)); text[:n] == v[0][:n] {
			continue
		}
		same := 0
		for text[same] == v[0][same] {
			same++
		}
		n = same
	}
	return n
}

// byteKey returns the first eight bytes, missing ones as 0.
func byteKey(text string) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64([]byte(text[:8]))
	}
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}

// hexKeys sets keys to the sixteen hexadecimal digits behind skip, if all
// strings have so many: identifiers often are nothing else.
func hexKeys(v []string, skip int, keys []uint64) bool {
	for i, text := range v {
		if len(text) < skip+16 {
			return false
		}
		key := uint64(0)
		for _, c := range []byte(text[skip : skip+16]) {
			switch {
			case c >= '0' && c <= '9':
				c -= '0'
			case c >= 'a' && c <= 'f':
				c -= 'a' - 10
			default:
				return false
			}
			key = key<<4 | uint64(c)
		}
		keys[i] = key
	}
	return true
}
