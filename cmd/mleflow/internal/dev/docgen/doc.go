// Package docgen writes the reference pages from what the program itself
// knows: commands from their flags, step kinds from their schemas, the language
// from its block and function tables, metrics and verbs from their registries.
// A test fails when the pages in docs differ from what it writes.
package docgen
