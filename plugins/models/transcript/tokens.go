package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

const (
	tokensName   = "tokens.bin"
	logprobsName = "logprobs.bin"
	// recentChains is the number of conversations whose ids later prompts can share, and
	// longestChain the most ids of one.
	recentChains = 4
	longestChain = 1 << 20
)

// Sampling is what a server reported of the tokens of an exchange. Bodies are ranges of
// tokens.bin, four bytes an id, and of logprobs.bin, eight bytes a log-probability.
type Sampling struct {
	Prompt  Body     `json:"prompt,omitzero"`
	Choices []Sample `json:"choices,omitempty"`
	// Problem says why ids are missing or do not count.
	Problem string `json:"problem,omitempty"`
}

// Sample is what was sampled for a choice.
type Sample struct {
	IDs      Body `json:"ids,omitzero"`
	Logprobs Body `json:"logprobs,omitzero"`
}

// IsZero reports whether nothing was there to keep.
func (b Body) IsZero() bool { return len(b.Pieces) == 0 && b.Dropped == 0 }

// tokenFiles are the files of ids and log-probabilities, which are made with the first
// exchange that has some.
type tokenFiles struct {
	dir           string
	ids, logprobs *file
	chains        []chain
}

// chain is a prompt with what was sampled after it.
type chain struct {
	ids    []uint32
	pieces [][2]int64
}

// size is the number of bytes of both files.
func (f *tokenFiles) size() int64 { return f.ids.size + f.logprobs.size }

// open opens the files unless they are open.
func (f *tokenFiles) open() (err error) {
	for _, one := range []struct {
		to   **file
		name string
	}{{&f.ids, tokensName}, {&f.logprobs, logprobsName}} {
		if (*one.to).File == nil && err == nil {
			var opened *file
			if opened, err = openFile(filepath.Join(f.dir, one.name), (*one.to).size); err == nil {
				*one.to = opened
			}
		}
	}
	return err
}

// add writes the ids after a prompt that shares the longest beginning with an earlier one.
func (f *tokenFiles) add(t *dialect.Tokens) (s Sampling, err error) {
	if err := f.open(); err != nil {
		return s, err
	}
	shared, pieces := 0, [][2]int64(nil)
	for _, c := range f.chains {
		if n := commonIDs(c.ids, t.Prompt); n > shared {
			shared, pieces = n, c.pieces
		}
	}
	if s.Prompt.Pieces, err = f.append(first(pieces, int64(shared)*4), t.Prompt[shared:]); err != nil {
		return s, err
	}
	for _, c := range t.Choices {
		var one Sample
		if one.IDs.Pieces, err = f.append(nil, c.IDs); err != nil {
			return s, err
		}
		if len(c.Logprobs) > 0 {
			var data []byte
			for _, p := range c.Logprobs {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(p))
			}
			at, err := f.logprobs.add(data)
			if err != nil {
				return s, err
			}
			one.Logprobs.Pieces = [][2]int64{{at, int64(len(data))}}
		}
		s.Choices = append(s.Choices, one)
		f.remember(chain{slices.Concat(t.Prompt, c.IDs), joined(s.Prompt.Pieces, one.IDs.Pieces)})
	}
	return s, nil
}

// append writes ids and adds their range to pieces.
func (f *tokenFiles) append(pieces [][2]int64, ids []uint32) ([][2]int64, error) {
	if len(ids) == 0 {
		return pieces, nil
	}
	data := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		data = binary.LittleEndian.AppendUint32(data, id)
	}
	at, err := f.ids.add(data)
	return extend(pieces, at, int64(len(data))), err
}

func (f *tokenFiles) remember(c chain) {
	if len(c.ids) <= longestChain {
		f.chains = append(f.chains, c)
		f.chains = f.chains[max(0, len(f.chains)-recentChains):]
	}
}

// commonIDs returns the length of the common beginning.
func commonIDs(a, b []uint32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// first returns the first bytes of pieces.
func first(pieces [][2]int64, size int64) (out [][2]int64) {
	for _, p := range pieces {
		if n := min(p[1], size); n > 0 {
			out, size = append(out, [2]int64{p[0], n}), size-n
		}
	}
	return out
}

// joined returns pieces one after the other.
func joined(a, b [][2]int64) [][2]int64 {
	out := slices.Clone(a)
	for _, p := range b {
		out = extend(out, p[0], p[1])
	}
	return out
}

// Sampled keeps what the server reported of the tokens of the exchange. The ids of a text
// with a secret are not kept, since they are that text.
func (x *Exchange) Sampled(t *dialect.Tokens) { x.sampled = t }

// sampling writes what was reported of an exchange's tokens. The caller holds w.mu.
func (w *Writer) sampling(t *dialect.Tokens, secret bool) *Sampling {
	size := int64(4 * len(t.Prompt))
	for _, c := range t.Choices {
		size += int64(4*len(c.IDs) + 8*len(c.Logprobs))
	}
	switch {
	case secret:
		return &Sampling{Problem: "the text has a secret, which the ids would repeat"}
	case size > w.left() || size > MaxBody:
		w.drop(nil)
		return &Sampling{Problem: "the transcript has no space left for them"}
	}
	s, err := w.tokens.add(t)
	if err != nil {
		w.drop(err)
		return &Sampling{Problem: "they could not be written"}
	}
	s.Problem = t.Problem
	return &s
}

// bodies are all that an event refers to in the files of ids and log-probabilities.
func (s *Sampling) bodies() (ids, logprobs []Body) {
	if s == nil {
		return nil, nil
	}
	ids = []Body{s.Prompt}
	for _, c := range s.Choices {
		ids, logprobs = append(ids, c.IDs), append(logprobs, c.Logprobs)
	}
	return ids, logprobs
}

// Sampled returns what the server reported of the tokens of an exchange, or nil.
func (r *Reader) Sampled(e *Event) (*dialect.Tokens, error) {
	if e.Sampling == nil {
		return nil, nil
	}
	t, left := &dialect.Tokens{Problem: e.Sampling.Problem}, int64(MaxBody)
	ids, logprobs := e.Sampling.bodies()
	var err error
	for i, b := range slices.Concat(ids, logprobs) {
		in := r.tokens
		if i >= len(ids) {
			in = r.logprobs
		}
		if err = check(in.size, b); err == nil && b.Size()%4 != 0 {
			err = errors.New("they are cut off")
		}
		if left -= b.Size(); err == nil && left < 0 {
			err = fmt.Errorf("they have more than %d bytes", MaxBody)
		}
		if err != nil {
			return nil, fmt.Errorf("read token ids of exchange %d: %w", e.Sequence, err)
		}
	}
	if t.Prompt, err = r.idsOf(e, e.Sampling.Prompt); err != nil {
		return nil, err
	}
	for _, c := range e.Sampling.Choices {
		var one dialect.Sample
		if one.IDs, err = r.idsOf(e, c.IDs); err != nil {
			return nil, err
		}
		data, err := r.logprobs.body("log-probabilities of", e.Sequence, c.Logprobs)
		if err != nil {
			return nil, err
		}
		for ; len(data) >= 8; data = data[8:] {
			one.Logprobs = append(one.Logprobs, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		if n := len(one.Logprobs); n > 0 && n != len(one.IDs) && t.Problem == "" {
			return nil, fmt.Errorf("exchange %d has %d ids and %d log-probabilities", e.Sequence, len(one.IDs), n)
		}
		t.Choices = append(t.Choices, one)
	}
	return t, nil
}

func (r *Reader) idsOf(e *Event, b Body) (ids []uint32, err error) {
	data, err := r.tokens.body("token ids of", e.Sequence, b)
	for ; len(data) >= 4; data = data[4:] {
		ids = append(ids, binary.LittleEndian.Uint32(data))
	}
	return ids, err
}
