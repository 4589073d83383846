package ui

import (
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// functions are those that the templates of this package can call besides those of
// package page.
var functions = map[string]any{
	"plural": view.Plural,
	"lt":     func(a, b int) bool { return a < b },
}
