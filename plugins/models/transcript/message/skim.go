package message

import "github.com/mleflow/mleflow/plugins/data/jsontoken"

// values returns the elements of an array, or alternating names and values of
// an object, without decoding them. It returns nil if raw does not start with
// open or is malformed.
func values(raw []byte, open byte) (all [][]byte) {
	const ended = 1 // the kind of no token
	want, start := open, 0
	for t := jsontoken.New(raw); t.Next(); {
		switch {
		case t.Kind == jsontoken.Open || t.Depth <= 0 && t.Kind != want:
			return nil
		case t.Depth <= 0 && want == open:
			want = open + 2 // the ASCII codes of { and }, of [ and ] are 2 apart
		case t.Depth <= 0:
			want = ended
		case t.Depth > 1 || t.Kind == ',' || t.Kind == ':':
		case t.Kind == '{' || t.Kind == '[':
			start = t.Start
		default:
			if t.Kind != '}' && t.Kind != ']' {
				start = t.Start
			}
			all = append(all, raw[start:t.End])
		}
	}
	if want != ended {
		return nil
	}
	return all
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
