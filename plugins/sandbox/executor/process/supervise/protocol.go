package supervise

import (
	"errors"
	"io"
	"strconv"
	"time"
)

// Command is the argument with which a program starts itself as a supervisor.
const Command = "supervise"

// Variable is set in the supervisor's own environment, so that nobody starts a
// supervisor just by using Command.
const Variable = "MLEFLOW_SUPERVISOR"

// FD is the supervisor's descriptor of a stream socket. mleflow sends orders, one after
// another, and each is answered with a report. When the connection ends, the supervisor
// and its command end.
const FD = 3

// The first byte of a message from mleflow.
const (
	// OrderByte comes with the descriptors of the command's standard streams and
	// precedes the order.
	OrderByte = 'o'
	// CancelByte asks the supervisor to stop the command.
	CancelByte = 'c'
	// LimitByte precedes a new time limit for the command.
	LimitByte = 'l'
)

// Order tells the supervisor what to run.
type Order struct {
	// Path is the program; Command is its name and arguments.
	Path    string
	Command []string
	// Env is the complete environment, as NAME=VALUE.
	Env         []string
	Dir         string
	Timeout     time.Duration
	Grace       time.Duration
	MemoryBytes int64
	FileBytes   int64
	Processes   int
	// ReadOnly are the paths that the command may only read, as far as this can be
	// enforced.
	ReadOnly []string
}

// Reason is the way in which a command ended, with the values of executor.Reason.
type Reason string

// The reasons that a supervisor can detect.
const (
	Exited      Reason = "exited"
	Signalled   Reason = "signalled"
	TimedOut    Reason = "timed_out"
	OutOfMemory Reason = "out_of_memory"
)

// Report is the supervisor's report on a command that ended. See executor.Exit for the
// fields without a comment.
type Report struct {
	Reason          Reason
	Code, Signal    int
	Wall, CPU       time.Duration
	PeakMemoryBytes int64
	Leftover        int
	// StartError is the reason why the command could not be started.
	StartError string
	// Cancelled means that mleflow asked for the end.
	Cancelled bool
	// Stuck is the number of processes that could not be killed.
	Stuck int
}

// encode encodes texts as netstrings ("5:bytes"). A message is a netstring that contains
// one per field, and a list is such a field. The initialisation of encoding/json would take
// longer than everything else that a supervisor does, and its strings are not arbitrary
// bytes.
func encode(texts ...string) string {
	var b []byte
	for _, s := range texts {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	return string(b)
}

func decimal[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func send(w io.Writer, fields ...string) error {
	_, err := io.WriteString(w, encode(encode(fields...)))
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
	return send(w, o.Path, o.Dir, encode(o.Command...), encode(o.Env...), encode(o.ReadOnly...),
		decimal(o.Timeout), decimal(o.Grace), decimal(o.MemoryBytes), decimal(o.FileBytes), decimal(o.Processes))
}

// WriteLimit sends a new time limit, counted from the start of the command.
func WriteLimit(w io.Writer, limit time.Duration) error {
	_, err := io.WriteString(w, string(LimitByte)+encode(encode(decimal(limit))))
	return err
}

func readLimit(r io.Reader) (time.Duration, error) {
	d, err := receive(r)
	if err != nil {
		return 0, err
	}
	return time.Duration(d.number()), d.err
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
	cancelled := 0
	if r.Cancelled {
		cancelled = 1
	}
	return send(w, string(r.Reason), r.StartError, decimal(r.Code), decimal(r.Signal), decimal(r.Wall), decimal(r.CPU),
		decimal(r.PeakMemoryBytes), decimal(r.Leftover), decimal(cancelled), decimal(r.Stuck))
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
