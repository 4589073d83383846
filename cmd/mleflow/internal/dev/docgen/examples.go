package main

import "embed"

// examples has for each block of the language and each kind of steps an example with all
// of its arguments. Together they are one pipeline.
//
//go:embed examples
var examples embed.FS

// example shows the example of a block or a kind.
func (p *page) example(of, name string) {
	text, err := examples.ReadFile("examples/" + of + "/" + name + ".hcl")
	if err == nil {
		p.code("hcl", string(text))
	}
}
