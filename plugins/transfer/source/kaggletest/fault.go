package kaggletest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Kind is a way to go wrong.
type Kind int

// The faults. Those of the second group concern the storage only; a request to
// the API then goes well.
const (
	None Kind = iota
	// Drop closes the connection without an answer.
	Drop
	// Status answers Fault.Code, with Retry-After where Fault.After is set.
	Status

	// Reset resets the connection after Fault.At bytes of the body.
	Reset
	// Truncate ends the body well after Fault.At bytes, without a length.
	Truncate
	// Drip sends Fault.At bytes and then nothing more, for as long as the
	// client waits.
	Drip
	// Expire ends all signatures, and this request's first.
	Expire
	// Replace puts another archive in the place of the present one first.
	Replace
	// Whole ignores the range.
	Whole
	// Another gives another part than asked for.
	Another
	// WrongLength announces another Content-Length than the part has.
	WrongLength
	// WrongTotal announces another size of the whole.
	WrongTotal
	// Longer sends more than the part, without a length.
	Longer
	// Encoded says that the body is compressed.
	Encoded
	// Anonymous leaves out what names the version.
	Anonymous
	kinds

	// Flip changes a byte of the body. Only a sum of the whole can tell, so
	// that All has it not.
	Flip
)

// Fault is what goes wrong with one request.
type Fault struct {
	Kind Kind
	// At is in thousandths of the body.
	At    int
	Code  int
	After time.Duration
}

// Call is one request.
type Call struct {
	// N counts the requests to both hosts from 0 on.
	N       int
	API     bool
	Request *http.Request
}

// Plan decides what goes wrong with a request. It must be safe for several
// requests at once.
type Plan func(Call) Fault

// All lists the faults.
func All() []Kind {
	var all []Kind
	for k := Drop; k < kinds; k++ {
		all = append(all, k)
	}
	return all
}

// codes are the refusals that may pass.
var codes = []int{403, 408, 429, 500, 502, 503, 504}

// Seeded lets each request go wrong with the given probability, in one of the
// given ways. What becomes of the n-th request depends on the seed alone, but
// for Replace, which happens once.
func Seeded(seed uint64, probability float64, kinds ...Kind) Plan {
	var replaced atomic.Bool
	return func(c Call) Fault {
		r := rand.New(rand.NewPCG(seed, uint64(c.N))) //nolint:gosec // a test's
		if r.Float64() >= probability || len(kinds) == 0 {
			return Fault{}
		}
		f := Fault{Kind: kinds[r.IntN(len(kinds))], At: r.IntN(1000), Code: codes[r.IntN(len(codes))]}
		if c.API && f.Code == http.StatusForbidden {
			f.Code = http.StatusServiceUnavailable // there it means something
		}
		if f.Kind == Replace && !c.API && replaced.Swap(true) {
			return Fault{}
		}
		return f
	}
}

// early does what a fault does before anything is looked at, and reports
// whether that was all.
func (f Fault) early(w http.ResponseWriter) bool {
	switch f.Kind {
	case Drop:
		hangUp(w)
	case Status:
		if f.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		}
		w.WriteHeader(f.Code)
		fmt.Fprintf(w, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>Fault%d</Code></Error>", f.Code)
	default:
		return false
	}
	return true
}

// hangUp resets the connection.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
