package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// paper is a terminal that understands what a painter writes.
type paper struct {
	width    int
	rows     []string
	row, col int
}

func (p *paper) write(text string) {
	for len(text) > 0 {
		rest, ok := strings.CutPrefix(text, "\x1b[")
		if !ok {
			p.put(text[0])
			text = text[1:]
			continue
		}
		end := strings.IndexAny(rest, "ABCHJKhl")
		n := max(1, len(strings.TrimLeft(rest[:end], "?25")))
		_, _ = fmt.Sscan(rest[:end], &n)
		switch rest[end] {
		case 'A':
			p.row -= n
		case 'H':
			p.row, p.col = 0, 0
		case 'J':
			if n == 2 {
				p.rows = nil
			} else if p.row < len(p.rows) {
				p.rows = p.rows[:p.row]
			}
		case 'K':
			p.line()
			p.rows[p.row] = p.rows[p.row][:p.col]
		}
		text = rest[end+1:]
	}
}

func (p *paper) line() {
	for len(p.rows) <= p.row {
		p.rows = append(p.rows, "")
	}
	p.rows[p.row] += strings.Repeat(" ", max(0, p.col-len(p.rows[p.row])))
}

func (p *paper) put(c byte) {
	switch c {
	case '\r':
		p.col = 0
		return
	case '\n':
		p.row++
		return
	}
	if p.col == p.width {
		p.row, p.col = p.row+1, 0
	}
	p.line()
	p.rows[p.row] = p.rows[p.row][:p.col] + string(c) + p.rows[p.row][min(len(p.rows[p.row]), p.col+1):]
	p.col++
}

// TestPainter sees that each frame replaces the one before, and that notices stay
// above it.
func TestPainter(t *testing.T) {
	p, screen := painter{}, &paper{width: 10}
	for _, step := range []struct {
		notices []string
		frame   string
		want    []string
	}{
		{nil, "", nil},
		{nil, "one\ntwo\n", []string{"one", "two"}},
		{nil, "1\ntwo\nthree\n", []string{"1", "two", "three"}},
		{[]string{"said"}, "1\n", []string{"said", "1"}},
		{[]string{"as wide as", "wider than that\nand two"}, "xx\nyy\n", []string{"said", "as wide as", "wider than", " that", "and two", "xx", "yy"}},
		{nil, "", []string{"said", "as wide as", "wider than", " that", "and two"}},
	} {
		screen.write(p.paint(10, step.notices, step.frame))
		if diff := cmp.Diff(step.want, screen.rows, cmp.Transformer("none", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", step.frame, diff)
		}
		if again := p.paint(10, nil, step.frame); again != "" {
			t.Errorf("the same frame is painted again: %q", again)
		}
	}
	screen.width = 5
	screen.write(p.paint(5, nil, "new\n"))
	if diff := cmp.Diff([]string{"new"}, screen.rows); diff != "" {
		t.Errorf("narrower (-want +got):\n%s", diff)
	}
}
