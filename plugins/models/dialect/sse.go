package dialect

import "bytes"

// events reads a stream of server-sent events, in pieces of any size, as the
// HTML standard defines it. Lines end in CR, LF or both, a blank line ends an
// event, and lines of data are joined by LF. It keeps only the names of the
// current field and event.
type events struct {
	// data receives pieces of the current event's data. done is called at the
	// end of an event.
	data func(p []byte)
	done func()

	state lineState
	// field is the name of the current field and name that of the event, as far
	// as they were read.
	field, name []byte
	// lines is the number of data lines of the event. cr reports that the last
	// byte was a CR, begun that the stream has begun.
	lines     int
	cr, begun bool
}

// EachEvent calls visit with the data of each event of a stream, of which the last may be cut off.
func EachEvent(stream []byte, visit func(data []byte)) {
	var data []byte
	e := events{data: func(p []byte) { data = append(data, p...) }}
	e.done = func() {
		visit(data)
		data = nil
	}
	_, _ = e.Write(stream)
	_, _ = e.Write([]byte("\n\n"))
}

type lineState uint8

const (
	inName  lineState = iota // in the name of a field
	atValue                  // after the colon, where one space is dropped
	inData                   // in the value of data
	inEvent                  // in the name of the event
	inOther                  // in the value of anything else
)

// maxField is the number of bytes kept of the name of a field or an event. It
// is one more than the longest relevant name has, so that a longer name does
// not match.
const maxField = 6

// Write implements io.Writer.
func (e *events) Write(p []byte) (int, error) {
	n := len(p)
	if n > 0 && !e.begun {
		p = e.skipMark(p)
	}
	for len(p) > 0 {
		if e.cr && p[0] == '\n' {
			p, e.cr = p[1:], false
			continue
		}
		e.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			e.part(p)
			break
		}
		e.part(p[:end])
		e.line()
		e.cr = p[end] == '\r'
		p = p[end+1:]
	}
	return n, nil
}

// skipMark drops a byte order mark at the beginning.
func (e *events) skipMark(p []byte) []byte {
	const mark = "\xef\xbb\xbf"
	for len(p) > 0 && len(e.field) < len(mark) && p[0] == mark[len(e.field)] {
		e.field, p = append(e.field, p[0]), p[1:]
	}
	switch {
	case len(e.field) == len(mark):
		e.field, e.begun = e.field[:0], true
	case len(p) > 0:
		e.begun = true
	}
	return p
}

// part reads a piece of a line without its end.
func (e *events) part(p []byte) {
	if e.state == inName {
		colon := bytes.IndexByte(p, ':')
		name := p
		if colon >= 0 {
			name = p[:colon]
		}
		e.field = append(e.field, name[:min(len(name), maxField-len(e.field))]...)
		if colon < 0 {
			return
		}
		e.state, p = inOther, p[colon+1:]
		switch string(e.field) {
		case "data":
			e.state = atValue
			e.begin()
		case "error": // llama.cpp before 2025
			e.state, e.name = atValue, append(e.name[:0], e.field...)
			e.begin()
		case "event":
			e.state, e.name = inEvent, e.name[:0]
		}
	}
	if e.state == inEvent {
		if len(e.name) == 0 {
			p = bytes.TrimPrefix(p, []byte(" "))
		}
		e.name = append(e.name, p[:min(len(p), maxField-len(e.name))]...)
	}
	if e.state == atValue && len(p) > 0 {
		e.state = inData
		if p[0] == ' ' {
			p = p[1:]
		}
	}
	if e.state == inData && len(p) > 0 {
		e.data(p)
	}
}

// begin starts a line of data.
func (e *events) begin() {
	if e.lines > 0 {
		e.data([]byte("\n"))
	}
	e.lines++
}

// line handles the end of a line.
func (e *events) line() {
	blank := e.state == inName && len(e.field) == 0
	if e.state == inName && string(e.field) == "data" {
		e.begin() // a field without a colon has an empty value
	}
	e.state, e.field = inName, e.field[:0]
	if !blank {
		return
	}
	if e.lines > 0 {
		e.lines = 0
		e.done()
	}
	e.name = e.name[:0]
}
