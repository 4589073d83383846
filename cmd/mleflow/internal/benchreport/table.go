package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// drift is the share by which a figure may move without being shown as moved.
const drift = 0.2

// table is what a .table file says.
type table struct {
	run     []string
	columns []column
	rows    []row
	chart   struct{ title, unit string }
}

type column struct{ head, unit, suffix string }

type row struct{ text, benchmark string }

func readTable(file string) (table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return table{}, err
	}
	var t table
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "run" {
			t.run = append(t.run, rest)
			continue
		}
		parts := strings.Split(rest, " | ")
		switch {
		case word == "column" && (len(parts) == 2 || len(parts) == 3):
			t.columns = append(t.columns, column{parts[0], parts[1], append(parts, "")[2]})
		case word == "row" && len(parts) == 2:
			t.rows = append(t.rows, row{parts[0], parts[1]})
		case word == "chart" && len(parts) == 2:
			t.chart.title, t.chart.unit = parts[0], parts[1]
		default:
			return table{}, fmt.Errorf("%s:%d: not a line of a table: %s", file, i+1, line)
		}
	}
	return t, nil
}

// markdown writes the table and where its figures come from.
func (t table) markdown(name string, r results) string {
	var s strings.Builder
	s.WriteString("| |")
	for _, c := range t.columns {
		s.WriteString(" " + c.head + " |")
	}
	s.WriteString("\n|---|" + strings.Repeat("---:|", len(t.columns)) + "\n")
	moved := false
	for _, row := range t.rows {
		s.WriteString("| " + row.text + " |")
		for _, c := range t.columns {
			text, m := r.cell(row.benchmark, c)
			moved = moved || m
			s.WriteString(" " + text + " |")
		}
		s.WriteString("\n")
	}
	if t.chart.unit != "" {
		fmt.Fprintf(&s, "\n![%s](%s)\n", t.chart.title, picture(name))
	}
	s.WriteString("\nFrom one run of `" + strings.Join(t.run, "`, `") + "`; " + strings.Join(r.facts, "; ") + ".")
	if moved {
		s.WriteString(" In bold: more than a fifth away from the run before.")
	}
	return s.String() + "\n"
}

// cell formats a figure, and reports whether it moved.
func (r results) cell(benchmark string, c column) (string, bool) {
	now, ok := r.now[benchmark][c.unit]
	if !ok {
		return "–", false
	}
	was, ok := r.before[benchmark][c.unit]
	if !ok || math.Abs(now-was) <= drift*math.Abs(was) {
		return figure(now, c.suffix), false
	}
	return "**" + figure(now, c.suffix) + "** (" + figure(was, c.suffix) + ")", true
}

// figure writes a number with three digits, thousands apart.
func figure(v float64, suffix string) string {
	digits := 0
	switch a := math.Abs(v); {
	case a == 0 || a >= 100:
	case a >= 10:
		digits = 1
	case a >= 1:
		digits = 2
	default:
		digits = min(6, 2-int(math.Floor(math.Log10(a))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	whole, fraction, point := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + fraction
	}
	if suffix != "" {
		whole += " " + suffix
	}
	return whole
}
