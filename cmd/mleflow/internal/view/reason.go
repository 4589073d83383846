package view

import (
	"fmt"
	"strings"
)

// reason is a reason for failures, and the names of those that failed for it.
type reason struct {
	text string
	// first is the index of the first of them among all additions.
	first int
	names []string
}

// reasons groups failures of the same reason, such as a missing credential.
type reasons struct {
	list []*reason
	same map[string]*reason
	n    int
}

// add adds the failure of name. Messages that differ only in the subject, where it is not
// part of an address, are one reason, with … for the subject.
func (r *reasons) add(name, subject, text string) {
	if r.same == nil {
		r.same = map[string]*reason{}
	}
	shared := text
	if subject != "" && !strings.Contains(text, "/"+subject) {
		shared = strings.ReplaceAll(text, subject, "…")
	}
	r.n++
	if o := r.same[shared]; o != nil {
		o.names, o.text = append(o.names, name), shared
		return
	}
	o := &reason{text: text, first: r.n - 1, names: []string{name}}
	r.same[shared], r.list = o, append(r.list, o)
}

// who returns the names of at most three failures.
func (o *reason) who() string {
	if n := len(o.names); n > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(o.names[:2], ", "), n-2)
	}
	return strings.Join(o.names, ", ")
}
