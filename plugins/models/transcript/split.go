package transcript

import (
	"slices"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// longString is the length from which a string becomes a separate piece. A
// message in which only the rest changes, such as a cache marker, then costs
// little.
const longString = 1 << 10

// growing are the arrays with the messages of a conversation.
var growing = []string{"messages", "input", "contents"}

// moving is a member of each request's last message that the next request
// drops. It is a separate piece, so that the pieces around it stay equal.
const moving = `"cache_control"`

// cut is a piece of a body: body[start:end]. grows means that it is part of the
// conversation, not of the text around it that each request repeats.
type cut struct {
	start, end int
	grows      bool
}

// split divides a body where the requests of a conversation share text: at each
// element of a JSON object's arrays, and around long strings. The pieces cover
// the body without gaps. Other bodies may be split anywhere, which affects only
// the size.
func split(body []byte) []cut {
	s := splitter{body: body}
	for t := jsontoken.New(body); t.Next(); {
		switch t.Kind {
		case jsontoken.String, jsontoken.Open:
			s.text(&t.Token)
		case '[':
			if t.Depth == 1 {
				s.end(t.End, false)
				s.array, s.grows = true, slices.Contains(growing, s.key)
			}
		case '}', ']':
			if s.array && t.Depth == 1 {
				s.end(t.Start, s.grows)
				s.array, s.grows = false, false
			}
			if s.marker > 0 && t.Depth <= s.marker {
				s.end(t.End, t.Depth < s.marker)
				s.marker = 0
			}
		case ',':
			if s.array && t.Depth == 2 {
				s.end(t.Start, s.grows)
			}
		}
	}
	if s.last < len(body) {
		s.cuts = append(s.cuts, cut{s.last, len(body), s.grows})
	}
	return s.cuts
}

// splitter is the state of split.
type splitter struct {
	body []byte
	// key is the last string at the top level, and so the name of the array
	// that follows.
	key string
	// array means that the position is inside an array of the top level.
	array, grows bool
	// marker is the depth of the object whose moving member is being read, or
	// 0.
	marker int
	cuts   []cut
	last   int
}

// end ends a piece at a position unless there are too many pieces.
func (s *splitter) end(at int, grows bool) {
	if at > s.last && len(s.cuts) < mostRanges {
		s.cuts = append(s.cuts, cut{s.last, at, grows})
		s.last = at
	}
}

// text reads a string.
func (s *splitter) text(t *jsontoken.Token) {
	text := s.body[t.Start:t.End]
	if t.Depth == 1 {
		s.key = string(text[1:max(1, min(len(text)-1, 32))])
	}
	if s.grows && s.marker == 0 && string(text) == moving {
		s.marker = t.Depth
		s.end(t.Start-1, true) // the comma is before it
	}
	if len(text) >= longString {
		s.end(t.Start, s.grows)
		s.end(t.End, s.grows)
	}
}
