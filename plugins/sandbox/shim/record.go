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

// Kind is what a call was after.
type Kind string

// The kinds.
const (
	Grade       Kind = "grade"
	Answers     Kind = "answers"
	Leaderboard Kind = "leaderboard"
	Download    Kind = "download"
)

var kinds = []Kind{Grade, Answers, Leaderboard, Download}

// Record is one call that was refused or withheld, as the agent's side tells it.
type Record struct {
	// Time is when the host learned of it; At is the sandbox's own clock.
	Time time.Time `json:"time"`
	At   string    `json:"at"`
	Kind Kind      `json:"kind"`
	Call string    `json:"call"`
	// Arguments are names, never values.
	Arguments []string `json:"arguments,omitempty"`
	// File and Line are where the call was; Line is 0 if it came from a command.
	File string `json:"file"`
	Line int    `json:"line"`
	// Late says that it could not be sent, and was found in the logs.
	Late bool `json:"late,omitempty"`
}

const (
	// maxBody bounds what is read of one record.
	maxBody      = 16 << 10
	maxText      = 512
	maxArguments = 16
	// Fallback is the file in the logs for what could not be sent.
	Fallback = "mlebench_shim.jsonl"
	// fallbackLines bounds what is read of it.
	fallbackLines = 1000
)

var errRecord = errors.New("not a record of the shim")

// parse reads what the agent's side sent. Nothing of it is trusted: fields that
// a Record does not have are dropped, and texts are cut.
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

// Handler takes records over HTTP and passes them on.
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

// Late passes on the records of a fallback file. Lines that are none, and what
// exceeds the bounds, are passed over.
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
