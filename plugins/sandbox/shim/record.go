package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind is the purpose of a call.
type Kind string

// The kinds.
const (
	Grade       Kind = "grade"
	Answers     Kind = "answers"
	Leaderboard Kind = "leaderboard"
	Download    Kind = "download"
)

var kinds = []Kind{Grade, Answers, Leaderboard, Download}

// Record is one call that was refused or withheld, as the agent's side reports it.
type Record struct {
	// Time is when the host received it; At is the time on the sandbox's own clock.
	Time time.Time `json:"time"`
	At   string    `json:"at"`
	Kind Kind      `json:"kind"`
	Call string    `json:"call"`
	// Arguments are the names of the arguments, never their values.
	Arguments []string `json:"arguments,omitempty"`
	// File and Line are the place of the call; Line is 0 for a command.
	File string `json:"file"`
	Line int    `json:"line"`
	// Late means that the record could not be sent and was found in the logs.
	Late bool `json:"late,omitempty"`
}

const (
	// maxBody limits the size of one record.
	maxBody      = 16 << 10
	maxText      = 512
	maxArguments = 16
	// Fallback is the file in the logs for records that could not be sent.
	Fallback = "mlebench_shim.jsonl"
	// fallbackLines limits the number of lines that are read of it.
	fallbackLines = 1000
)

var errRecord = errors.New("not a record of the shim")

// parse parses a record from the agent's side. It trusts nothing in it: unknown fields
// are dropped, and strings are truncated.
func parse(data []byte) (Record, error) {
	var sent struct {
		At, Call, File string
		Kind           Kind
		Arguments      []string
		Line           int
	}
	if err := json.Unmarshal(data, &sent); err != nil || sent.Call == "" || !slices.Contains(kinds, sent.Kind) {
		return Record{}, errRecord
	}
	r := Record{
		Time: time.Now().UTC(), At: cut(sent.At), Kind: sent.Kind, Call: cut(sent.Call), File: cut(sent.File), Line: max(0, sent.Line),
	}
	for _, name := range sent.Arguments[:min(len(sent.Arguments), maxArguments)] {
		r.Arguments = append(r.Arguments, cut(name))
	}
	return r, nil
}

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "\uFFFD")
}

// Handler receives records over HTTP and passes them to add.
func Handler(add func(Record)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, fmt.Sprintf("a record has %d bytes at most", maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		rec, err := parse(data)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		add(rec)
		w.WriteHeader(http.StatusNoContent)
	})
}

// Late passes the records of a fallback file to add. It skips invalid lines and
// everything beyond the limits.
func Late(file io.Reader, add func(Record)) error {
	lines := bufio.NewScanner(io.LimitReader(file, fallbackLines*maxBody))
	lines.Buffer(make([]byte, 0, maxBody), maxBody)
	for n := 0; n < fallbackLines && lines.Scan(); n++ {
		if rec, err := parse(lines.Bytes()); err == nil {
			rec.Late = true
			add(rec)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("read %s: %w", Fallback, err)
	}
	return nil
}
