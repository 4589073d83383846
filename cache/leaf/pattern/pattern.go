// Package pattern holds regular expressions that are compiled when they are first
// used. Most processes use few of the program's expressions; compiling the others
// would take longer than their own work.
//
// It is a leaf package: it imports only the standard library.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. A variable of this type costs nothing at program
// start, since the compiler initialises it.
type Pattern struct {
	source  string
	compile sync.Once
	regexp  *regexp.Regexp
}

// New returns a pattern in the syntax of package regexp.
func New(source string) *Pattern { return &Pattern{source: source} }

// Regexp returns the compiled pattern. It panics if the syntax is wrong, as
// regexp.MustCompile does. Any number of goroutines may call it.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.compile.Do(func() { p.regexp = regexp.MustCompile(p.source) })
	return p.regexp
}
