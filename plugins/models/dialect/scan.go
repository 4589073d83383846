package dialect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// scanner reads a JSON text in pieces of any size and passes on the strings,
// numbers and booleans at the wanted paths. A path is the names of members
// joined by dots. The items of an array are its member "[]". The items of a
// top-level array have the empty path. The scanner keeps only the path and one
// value.
type scanner struct {
	// wanted are the paths whose values are passed to found.
	wanted map[string]bool
	found  func(path, value string)
	// cut are the paths at which a string that is too long is passed on
	// truncated.
	cut map[string]bool
	// texts are the paths of strings whose bytes are counted in written. A
	// trailing * matches any suffix.
	texts   []string
	written int64

	state scanState
	// open are the open containers, each '{' or '['. marks are the lengths of
	// the path at their beginnings.
	open  []byte
	marks []int
	path  []byte
	// token is the current string, name or other value, as it is in the text.
	// over reports that it is too long.
	token []byte
	over  bool
	size  int64 // size of the token, even if it is too long
	name  bool  // the string is the name of a member
	first bool  // the container has no member yet
}

type scanState uint8

const (
	wantValue scanState = iota
	wantName
	wantColon
	wantNext
	inText
	inEscape
	inWord
	ended
	broken
)

// Values beyond these bounds are skipped: no usage is there.
const (
	maxPath  = 200
	maxToken = 2000
	maxOpen  = 10000
)

// reset prepares for another text.
func (s *scanner) reset() {
	s.state, s.open, s.marks, s.path, s.token = wantValue, s.open[:0], s.marks[:0], s.path[:0], s.token[:0]
}

// whole reports whether exactly one complete JSON value was read.
func (s *scanner) whole() bool {
	return s.state == ended || s.state == inWord && len(s.open) == 0 && !s.over && json.Valid(s.token)
}

// Write implements io.Writer.
func (s *scanner) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.state != broken {
		p = p[s.step(p):]
	}
	return n, nil
}

// step reads at least one byte or changes the state. It returns the number of
// bytes read.
func (s *scanner) step(p []byte) int {
	switch s.state {
	case inText:
		return s.inText(p)
	case inEscape:
		s.keep(p[:1])
		s.state = inText
		return 1
	case inWord:
		return s.inWord(p)
	}
	c := p[0]
	if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
		return 1
	}
	switch s.state {
	case wantValue:
		s.value(c)
	case wantName:
		s.nameOrEnd(c)
	case wantColon:
		s.state = broken
		if c == ':' {
			s.state = wantValue
		}
	case wantNext:
		s.next(c)
	case ended:
		s.state = broken
	}
	return 1
}

func (s *scanner) value(c byte) {
	switch {
	case c == '{' || c == '[':
		s.push(c)
	case c == ']' && s.first && s.in() == '[':
		s.pop()
	case c == '"':
		s.begin(false)
	case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
		s.token, s.over, s.state = append(s.token[:0], c), false, inWord
	default:
		s.state = broken
	}
	if c != '{' && c != '[' {
		s.first = false
	}
}

func (s *scanner) nameOrEnd(c byte) {
	switch {
	case c == '"':
		s.begin(true)
	case c == '}' && s.first:
		s.pop()
	default:
		s.state = broken
	}
	s.first = false
}

func (s *scanner) next(c byte) {
	switch {
	case c == ',' && s.in() == '{':
		s.state = wantName
	case c == ',' && s.in() == '[':
		s.state = wantValue
	case c == '}' && s.in() == '{', c == ']' && s.in() == '[':
		s.pop()
	default:
		s.state = broken
	}
}

// in returns the innermost container, or 0 outside of any.
func (s *scanner) in() byte {
	if len(s.open) == 0 {
		return 0
	}
	return s.open[len(s.open)-1]
}

func (s *scanner) push(c byte) {
	if len(s.open) == maxOpen {
		s.state = broken
		return
	}
	if c == '[' && len(s.open) > 0 {
		s.join("[]")
	}
	s.open, s.marks = append(s.open, c), append(s.marks, len(s.path))
	s.first, s.state = true, wantName
	if c == '[' {
		s.state = wantValue
	}
}

func (s *scanner) pop() {
	s.open, s.marks = s.open[:len(s.open)-1], s.marks[:len(s.marks)-1]
	s.after()
}

// after handles the end of a value.
func (s *scanner) after() {
	if len(s.open) == 0 {
		s.state = ended
		return
	}
	s.path = s.path[:s.marks[len(s.marks)-1]]
	s.first, s.state = false, wantNext
}

// join appends a name to the path. A path that is too long is never wanted.
func (s *scanner) join(name string) {
	if len(s.path) > 0 && len(s.path) < maxPath {
		s.path = append(s.path, '.')
	}
	if len(s.path)+len(name) > maxPath {
		s.path = append(s.path[:min(len(s.path), maxPath)], 0)
		return
	}
	s.path = append(s.path, name...)
}

func (s *scanner) begin(name bool) {
	s.token, s.over, s.size, s.name, s.state = append(s.token[:0], '"'), false, 0, name, inText
}

func (s *scanner) keep(p []byte) {
	s.size += int64(len(p))
	if s.over || len(s.token)+len(p) > maxToken {
		s.over = true
		return
	}
	s.token = append(s.token, p...)
}

func (s *scanner) inText(p []byte) int {
	end := bytes.IndexByte(p, '"')
	if end < 0 {
		end = len(p)
	}
	if escape := bytes.IndexByte(p[:end], '\\'); escape >= 0 {
		s.keep(p[:escape+1])
		s.state = inEscape
		return escape + 1
	}
	s.keep(p[:end])
	if end == len(p) {
		return end
	}
	s.keep(p[end : end+1])
	if s.name {
		s.named()
		s.state = wantColon
	} else {
		s.hand()
		s.after()
	}
	return end + 1
}

// named appends the current name to the path. A name that is too long or looks
// like a path is never wanted.
func (s *scanner) named() {
	name := "\x00"
	if !s.over {
		name = unquote(s.token)
	}
	if strings.ContainsAny(name, ".[") {
		name = "\x00"
	}
	s.join(name)
}

func (s *scanner) inWord(p []byte) int {
	end := 0
	for end < len(p) && (p[end] >= '0' && p[end] <= '9' || p[end] >= 'a' && p[end] <= 'z' || p[end] == '.' || p[end] == '-' || p[end] == '+' || p[end] == 'E') {
		end++
	}
	s.keep(p[:end])
	if end == len(p) {
		return end
	}
	if !s.over && !json.Valid(s.token) {
		s.state = broken
		return end
	}
	s.hand()
	s.after()
	return end
}

// hand passes on the current value.
func (s *scanner) hand() {
	if s.token[0] == '"' && s.size > 1 && slices.ContainsFunc(s.texts, s.at) {
		s.written += s.size - 1 // without the quote at the end
	}
	if !s.wanted[string(s.path)] || string(s.token) == "null" || s.over && !s.cut[string(s.path)] {
		return
	}
	value := string(s.token)
	if s.token[0] == '"' && !s.over {
		value = unquote(s.token)
	}
	s.found(string(s.path), value)
}

// at reports whether the current path matches path.
func (s *scanner) at(path string) bool {
	if begin, ok := strings.CutSuffix(path, "*"); ok {
		return strings.HasPrefix(string(s.path), begin)
	}
	return string(s.path) == path
}
