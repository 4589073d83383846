package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Lock is the order in which a board took its bundles. A bundle's time and run are its
// maker's claims; this order is the board keeper's.
type Lock struct {
	Taken []Taken
	at    map[string]int // by manifest
}

// Taken is a bundle that the board took.
type Taken struct {
	// Build numbers from 1 the builds that took bundles: those of one build have no
	// order among them.
	Build    int    `json:"build"`
	Manifest string `json:"manifest"`
	// Key is the id of the key that signed it; empty without a signature.
	Key string `json:"key,omitempty"`
	// Agents are the names with rows that counted.
	Agents []string `json:"agents"`
}

// lockHead is the first line of a lock file.
const lockHead = "# Bundles in the order in which mleflow board build took them. Keep this file with them.\n"

// ReadLock reads a lock file; one that does not exist is empty.
func ReadLock(path string) (*Lock, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read lock of the board: %w", err)
	}
	l, n := &Lock{}, 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		var t Taken
		err := json.Unmarshal(line, &t)
		if err == nil && (t.Build < 1 || t.Manifest == "" || len(l.Taken) > 0 && t.Build < l.Taken[len(l.Taken)-1].Build) {
			err = errors.New("the line needs a manifest, and a build that is not lower than that of the line before")
		}
		if err != nil {
			return nil, fmt.Errorf("read lock of the board: %s:%d: %w", path, n, err)
		}
		l.Taken = append(l.Taken, t)
	}
	return l, nil
}

// Text is the lock file.
func (l *Lock) Text() []byte {
	out := bytes.NewBufferString(lockHead)
	enc := json.NewEncoder(out)
	for _, t := range l.Taken {
		_ = enc.Encode(t) // strings and numbers
	}
	return out.Bytes()
}

// with returns the lock after a build of bundles whose rows have normal names. What
// was taken before stays as it was.
func (l *Lock) with(bundles []*Bundle) *Lock {
	out := &Lock{at: map[string]int{}}
	build := 1
	if l != nil && len(l.Taken) > 0 {
		out.Taken = slices.Clone(l.Taken)
		build = out.Taken[len(out.Taken)-1].Build + 1
	}
	for i := len(out.Taken) - 1; i >= 0; i-- {
		out.at[out.Taken[i].Manifest] = out.Taken[i].Build
	}
	var fresh []Taken
	for _, b := range bundles {
		if b.Refused != "" || out.at[b.Manifest] > 0 {
			continue
		}
		names := map[string]bool{}
		for _, r := range b.Rows {
			if r.Aside == "" {
				names[r.Agent] = true
			}
		}
		out.at[b.Manifest] = build
		fresh = append(fresh, Taken{build, b.Manifest, b.Signer, slices.AppendSeq([]string{}, maps.Keys(names))})
		slices.Sort(fresh[len(fresh)-1].Agents)
	}
	slices.SortFunc(fresh, func(a, b Taken) int { return cmp.Compare(a.Manifest, b.Manifest) })
	out.Taken = append(out.Taken, fresh...)
	return out
}

// owners are the keys that signed a name first, by name: several if one build took
// them together.
func (l *Lock) owners() map[string][]string {
	first, by := map[string]int{}, map[string][]string{}
	for _, t := range l.Taken {
		for _, name := range t.Agents {
			if t.Key == "" || first[name] > 0 && first[name] < t.Build {
				continue
			}
			first[name] = t.Build
			if !slices.Contains(by[name], t.Key) {
				by[name] = append(by[name], t.Key)
			}
		}
	}
	return by
}
