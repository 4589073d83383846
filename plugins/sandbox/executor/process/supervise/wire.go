package supervise

import (
	"errors"
	"io"
	"strconv"
	"time"
)

// encoder encodes an order or a report as one netstring ("5:bytes") that contains a
// netstring per field; lists are nested twice. The initialisation of encoding/json
// would take longer than everything else that a supervisor does, and its strings are
// not arbitrary bytes.
type encoder struct{ buf []byte }

func (e *encoder) text(s string) {
	e.buf = append(strconv.AppendInt(e.buf, int64(len(s)), 10), ':')
	e.buf = append(e.buf, s...)
}

func (e *encoder) list(texts []string) {
	var inner encoder
	for _, s := range texts {
		inner.text(s)
	}
	e.text(string(inner.buf))
}

func (e *encoder) numbers(list ...int64) {
	for _, n := range list {
		e.text(strconv.FormatInt(n, 10))
	}
}

func (e *encoder) writeTo(w io.Writer) error {
	var whole encoder
	whole.text(string(e.buf))
	_, err := w.Write(whole.buf)
	return err
}

// mostBytes limits the size of a message. It exceeds the size of arguments that a
// kernel accepts.
const mostBytes = 64 << 20

var errMessage = errors.New("not a message of a supervisor")

// decoder decodes the fields of a message. The first malformed field sets err.
type decoder struct {
	buf []byte
	err error
}

// receive reads exactly one message, and no byte beyond it.
func receive(r io.Reader) (*decoder, error) {
	size, digit := 0, []byte{0}
	for {
		if _, err := io.ReadFull(r, digit); err != nil {
			return nil, err
		}
		if digit[0] == ':' {
			break
		}
		if digit[0] < '0' || digit[0] > '9' || size > mostBytes {
			return nil, errMessage
		}
		size = size*10 + int(digit[0]-'0')
	}
	d := &decoder{buf: make([]byte, size)}
	_, err := io.ReadFull(r, d.buf)
	return d, err
}

func (d *decoder) text() string {
	size := 0
	for i, c := range d.buf {
		if c == ':' && size <= len(d.buf)-i-1 {
			s := string(d.buf[i+1 : i+1+size])
			d.buf = d.buf[i+1+size:]
			return s
		}
		if c < '0' || c > '9' || size > mostBytes {
			break
		}
		size = size*10 + int(c-'0')
	}
	d.buf, d.err = nil, errMessage
	return ""
}

func (d *decoder) list() (texts []string) {
	inner := decoder{buf: []byte(d.text())}
	for len(inner.buf) > 0 {
		texts = append(texts, inner.text())
	}
	if inner.err != nil {
		d.err = inner.err
	}
	return texts
}

func (d *decoder) number() int64 {
	n, err := strconv.ParseInt(d.text(), 10, 64)
	if err != nil {
		d.err = errMessage
	}
	return n
}

// Write sends an order, without OrderByte.
func (o Order) Write(w io.Writer) error {
	var e encoder
	e.text(o.Path)
	e.text(o.Dir)
	e.list(o.Command)
	e.list(o.Env)
	e.list(o.ReadOnly)
	e.numbers(int64(o.Timeout), int64(o.Grace), o.MemoryBytes, o.FileBytes, int64(o.Processes))
	return e.writeTo(w)
}

func readOrder(r io.Reader) (Order, error) {
	d, err := receive(r)
	if err != nil {
		return Order{}, err
	}
	o := Order{
		Path: d.text(), Dir: d.text(), Command: d.list(), Env: d.list(), ReadOnly: d.list(),
		Timeout: time.Duration(d.number()), Grace: time.Duration(d.number()),
		MemoryBytes: d.number(), FileBytes: d.number(), Processes: int(d.number()),
	}
	return o, d.err
}

func (r Report) write(w io.Writer) error {
	var e encoder
	e.text(string(r.Reason))
	e.text(r.StartError)
	cancelled := int64(0)
	if r.Cancelled {
		cancelled = 1
	}
	e.numbers(int64(r.Code), int64(r.Signal), int64(r.Wall), int64(r.CPU), r.PeakMemoryBytes, int64(r.Leftover), cancelled, int64(r.Stuck))
	return e.writeTo(w)
}

// ReadReport reads a report.
func ReadReport(from io.Reader) (Report, error) {
	d, err := receive(from)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Reason: Reason(d.text()), StartError: d.text(),
		Code: int(d.number()), Signal: int(d.number()), Wall: time.Duration(d.number()), CPU: time.Duration(d.number()),
		PeakMemoryBytes: d.number(), Leftover: int(d.number()), Cancelled: d.number() == 1, Stuck: int(d.number()),
	}
	return r, d.err
}
