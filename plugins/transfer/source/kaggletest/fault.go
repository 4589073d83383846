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

// Kind is a kind of fault.
type Kind int

// The faults. Those of the second group affect only the storage; a request to
// the API then succeeds.
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
	// Expire ends all signatures, and this request's first. It does so twice at most:
	// a client with several connections that is refused three times in a row, each time
	// for another one's request, rightly stops.
	Expire
	// Replace first replaces the archive with another one.
	Replace
	// Whole ignores the range.
	Whole
	// Another sends a part other than the requested one.
	Another
	// WrongLength sends a Content-Length that does not match the part.
	WrongLength
	// WrongTotal sends a wrong size of the whole file.
	WrongTotal
	// Longer sends more than the part, without a length.
	Longer
	// Encoded declares the body to be compressed.
	Encoded
	// Anonymous leaves out everything that identifies the version.
	Anonymous
	kinds

	// Flip changes a byte of the body. Only a checksum of the whole can detect it,
	// so All does not include it.
	Flip
)

// Fault is the failure of one request.
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

// codes are the statuses of temporary refusals.
var codes = []int{403, 408, 429, 500, 502, 503, 504}

// Seeded injects a fault into each request with the given probability, chosen
// from the given kinds. What happens to the n-th request depends only on the
// seed, except for Replace, which happens once.
func Seeded(seed uint64, probability float64, kinds ...Kind) Plan {
	var replaced atomic.Bool
	return func(c Call) Fault {
		r := rand.New(rand.NewPCG(seed, uint64(c.N))) //nolint:gosec // a test's
		if r.Float64() >= probability || len(kinds) == 0 {
			return Fault{}
		}
		f := Fault{Kind: kinds[r.IntN(len(kinds))], At: r.IntN(1000), Code: codes[r.IntN(len(codes))]}
		if c.API && f.Code == http.StatusForbidden {
			f.Code = http.StatusServiceUnavailable // it has an effect there
		}
		if f.Kind == Replace && !c.API && replaced.Swap(true) {
			return Fault{}
		}
		return f
	}
}

// early injects a fault that needs no processing of the request, and reports
// whether that completes the answer.
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
