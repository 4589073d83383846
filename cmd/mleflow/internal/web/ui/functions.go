package ui

import (
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// functions are the template functions of this package, in addition to those of package
// page.
var functions = map[string]any{
	"plural": view.Plural,
	"add":    func(a, b int) int { return a + b },
	"lt":     func(a, b int) bool { return a < b },
}
