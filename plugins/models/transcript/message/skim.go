package message

import "bytes"

// The functions of this file locate the values of a JSON text without decoding
// them. Text that is not JSON yields nothing or undecodable values.

// value returns the end of the value at raw[at], or -1 if it has none.
func value(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			if at = closing(raw, at+1); at < 0 {
				return -1
			}
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\t', '\n', '\r':
			at++
			continue
		default:
			for at < len(raw) && bytes.IndexByte([]byte(",:]} \t\n\r"), raw[at]) < 0 {
				at++
			}
		}
		if depth <= 0 {
			return at
		}
	}
	return -1
}

// closing returns the end of a string whose content begins at raw[at].
func closing(raw []byte, at int) int {
	for {
		n := bytes.IndexByte(raw[at:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for escapes < n && raw[at+n-escapes-1] == '\\' {
			escapes++
		}
		if at += n + 1; escapes%2 == 0 {
			return at
		}
	}
}

// space skips blanks and returns the position of the next byte.
func space(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\n' || raw[at] == '\r') {
		at++
	}
	return at
}

// values returns the elements of an array, or alternating names and values of
// an object. It returns nil if raw does not start with open or is malformed.
func values(raw []byte, open byte) (all [][]byte) {
	at := space(raw, 0)
	if at >= len(raw) || raw[at] != open {
		return nil
	}
	for at++; ; {
		at = space(raw, at)
		if at < len(raw) && (raw[at] == ',' || raw[at] == ':') {
			at = space(raw, at+1)
		}
		if at >= len(raw) {
			return nil
		}
		if raw[at] == open+2 { // the ASCII codes of { and }, of [ and ] are 2 apart
			if space(raw, at+1) < len(raw) {
				return nil
			}
			return all
		}
		end := value(raw, at)
		if end <= at {
			return nil
		}
		all = append(all, raw[at:end])
		at = end
	}
}

// skimmed returns an object with undecoded members, or nil if raw is not one.
func skimmed(raw []byte) body {
	pairs := values(raw, '{')
	if len(pairs)%2 != 0 || pairs == nil {
		return nil
	}
	b := body{}
	for i := 0; i < len(pairs); i += 2 {
		b[text(pairs[i])] = pairs[i+1]
	}
	return b
}
