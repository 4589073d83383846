// Package pattern holds regular expressions that are compiled when they are
// first used. Most processes use few of those that the program has, and would
// spend more on compiling the others than on their own work.
//
// It is a leaf package: it imports only the standard library.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. A variable that is one costs nothing when the
// program starts, since it is made by the compiler.
type Pattern struct {
	source  string
	compile sync.Once
	regexp  *regexp.Regexp
}

// New returns a pattern of the syntax of package regexp.
func New(source string) *Pattern { return &Pattern{source: source} }

// Regexp returns the compiled pattern. It panics if the syntax is wrong, as
// regexp.MustCompile does. Any number of goroutines may call it.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.compile.Do(func() { p.regexp = regexp.MustCompile(p.source) })
	return p.regexp
}
