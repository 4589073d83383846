package report

import (
	"fmt"
	"html"
	"strings"
)

// svgOpen begins a drawing, with a text for those who cannot see it.
func svgOpen(w, h float64, class, label string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="img" aria-label="%s" viewBox="0 0 %s %s">`+"\n",
		class, html.EscapeString(label), number(w), number(h))
}

// number writes a coordinate with at most two decimals.
func number(v float64) string {
	s := strings.TrimRight(fmt.Sprintf("%.2f", v), "0")
	s = strings.TrimSuffix(s, ".")
	if s == "-0" {
		return "0"
	}
	return s
}
