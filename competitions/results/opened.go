package results

import "fmt"

// Opened counts the files of its data that an attempt opened, as the output stats has it.
type Opened struct {
	Files  int `json:"files"`
	Opened int `json:"opened"`
	// First are some of the files that were opened first, Never some of those that never
	// were, by name. Digest is that of the names of all that were opened, one a line, sorted.
	First  []FirstOpened `json:"first,omitempty"`
	Never  []string      `json:"never,omitempty"`
	Digest string        `json:"digest,omitempty"`
	// Packages are the packages of its Python environment that it imported, sorted.
	Packages []string `json:"packages,omitempty"`
	// Partly says why more may have been opened; Unknown why nothing is known.
	Partly  string `json:"partly,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// Text is what is known in words, "" of nil.
func (o *Opened) Text() string {
	switch {
	case o == nil:
		return ""
	case o.Unknown != "":
		return "cannot be known: " + o.Unknown
	case o.Partly != "":
		return fmt.Sprintf("at least %d of %d: %s", o.Opened, o.Files, o.Partly)
	}
	return fmt.Sprintf("%d of %d", o.Opened, o.Files)
}

// None reports whether it is known that the agent opened nothing of its data.
func (o *Opened) None() bool {
	return o != nil && o.Files > 0 && o.Opened == 0 && o.Unknown == "" && o.Partly == ""
}

// FirstOpened is a file with the time after the start at which it was first opened.
type FirstOpened struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}
