package message

import "bytes"

// The functions here find where the values of a JSON text are without looking
// into them. What is no JSON gives nothing, or something that cannot be read.

// value returns the end of the value that begins at raw[at], -1 if it has none.
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

// space returns the first byte from raw[at] on that is not blank.
func space(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\n' || raw[at] == '\r') {
		at++
	}
	return at
}

// values returns the values of an array, or names and values in turn of an
// object; nil if raw is not one.
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

// skimmed is an object whose members were not looked at; nil if raw is none.
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
