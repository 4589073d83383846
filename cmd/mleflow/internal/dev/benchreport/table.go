package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// drift is the share by which a figure may move without being shown as moved.
const drift = 0.2

// table is what a .table file says.
type table struct {
	name     string
	named    string // why it is run only when it is named
	sizes    []size
	run      []string
	versions []string
	columns  []column
	rows     []row
	waits    []wait
	chart    struct{ title, unit string }
}

// size is a variable of the environment that the benchmarks take a size from.
type size struct{ variable, usual, full string }

type column struct{ head, unit, suffix string }

type row struct {
	text, benchmark string
	aims            []aim
}

// wait is a time that users wait for, with that of another program if there is one.
type wait struct{ text, benchmark, unit, other, theirBenchmark, theirUnit string }

// aim is a limit of a metric, at the full sizes.
type aim struct {
	column  column
	atLeast bool
	value   float64
}

func readTable(file string) (table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return table{}, err
	}
	t := table{name: strings.TrimSuffix(filepath.Base(file), ".table")}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if !t.add(word, rest) {
			return table{}, fmt.Errorf("%s:%d: not a line of a table: %s", file, i+1, line)
		}
	}
	return t, nil
}

// add takes a line, and reports whether it is one of a table.
func (t *table) add(word, rest string) bool {
	parts := strings.Split(rest, " | ")
	switch words := strings.Fields(rest); {
	case word == "named" && rest != "":
		t.named = rest
	case word == "size" && len(words) == 3:
		t.sizes = append(t.sizes, size{words[0], words[1], words[2]})
	case word == "run" && rest != "":
		t.run = append(t.run, rest)
	case word == "versions" && rest != "":
		t.versions = append(t.versions, rest)
	case word == "column" && (len(parts) == 2 || len(parts) == 3):
		t.columns = append(t.columns, column{parts[0], parts[1], append(parts, "")[2]})
	case word == "row" && len(parts) >= 2:
		r := row{text: parts[0], benchmark: parts[1]}
		for _, text := range parts[2:] {
			a, ok := t.aim(text)
			if !ok {
				return false
			}
			r.aims = append(r.aims, a)
		}
		t.rows = append(t.rows, r)
	case word == "wait" && (len(parts) == 3 || len(parts) == 6):
		p := append(parts, "", "", "")
		t.waits = append(t.waits, wait{p[0], p[1], p[2], p[3], p[4], p[5]})
	case word == "chart" && len(parts) == 2:
		t.chart.title, t.chart.unit = parts[0], parts[1]
	default:
		return false
	}
	return true
}

// aim reads UNIT >= N or UNIT <= N, the unit of a column above it.
func (t *table) aim(text string) (a aim, ok bool) {
	words := strings.Fields(text)
	if len(words) != 3 || words[1] != ">=" && words[1] != "<=" {
		return a, false
	}
	at := slices.IndexFunc(t.columns, func(c column) bool { return c.unit == words[0] })
	value, err := strconv.ParseFloat(words[2], 64)
	if at < 0 || err != nil {
		return a, false
	}
	return aim{t.columns[at], words[1] == ">=", value}, true
}

// environment is the sizes: what the caller's environment says, the full or the
// usual ones.
func (t *table) environment(full bool) (list []string) {
	for _, s := range t.sizes {
		value := s.usual
		if full {
			value = s.full
		}
		list = append(list, s.variable+"="+cmp.Or(os.Getenv(s.variable), value))
	}
	return list
}

// isFull reports whether figures are of the full sizes.
func (t *table) isFull(r results) bool {
	for _, s := range t.sizes {
		if !slices.Contains(strings.Fields(r.now.origin[sizeWord]), s.variable+"="+s.full) {
			return false
		}
	}
	return true
}

// markdown writes the table and where its figures come from.
func (t *table) markdown(r results) string {
	if r.empty() {
		return "No figures: it " + t.named + ". `make bench-report TABLES=" + t.name + "` runs `" + strings.Join(t.run, "`, `") + "`.\n"
	}
	var s strings.Builder
	s.WriteString(`<a id="` + t.name + `"></a>` + "\n\n")
	heads, aims := []string{""}, slices.ContainsFunc(t.rows, func(r row) bool { return len(r.aims) > 0 })
	for _, c := range t.columns {
		heads = append(heads, c.head)
	}
	if aims {
		heads = append(heads, "aim")
	}
	s.WriteString("| " + strings.Join(heads, " | ") + " |\n|---|" + strings.Repeat("---:|", len(t.columns)))
	if aims {
		s.WriteString("---|")
	}
	moved := false
	for _, row := range t.rows {
		s.WriteString("\n| " + row.text + " |")
		for _, c := range t.columns {
			text, m := r.cell(row.benchmark, c)
			moved = moved || m
			s.WriteString(" " + text + " |")
		}
		if aims {
			s.WriteString(" " + strings.Join(t.judged(row, r), "<br>") + " |")
		}
	}
	s.WriteString("\n\n" + t.source(r))
	if moved {
		s.WriteString(" In bold: more than a fifth away from the run before.")
	}
	if len(r.before.figures) > 0 && !r.comparable() {
		what := "at another size"
		if r.before.origin[machineWord] != r.now.origin[machineWord] {
			what = "on another machine"
		}
		s.WriteString(" The run before was " + what + ".")
	}
	return s.String() + "\n"
}

// source says where figures come from.
func (t *table) source(r results) string {
	text := "From `" + strings.Join(t.run, "`, `") + "`"
	if len(t.sizes) > 0 {
		text += " with `" + r.now.origin[sizeWord] + "`, "
		if t.isFull(r) {
			text += "the full size"
		} else {
			text += "a small size"
		}
	}
	if took := r.now.origin[tookWord]; took != "" {
		text += ", in " + took
	}
	return text + "; " + r.now.origin[dateWord] + ", load average " + r.now.origin[loadWord] + "; " + r.now.origin[versionsWord] + "."
}

// reached reports whether a figure is as the aim says, and whether that can be told.
func (t *table) reached(a aim, benchmark string, r results) (reached, known bool) {
	v, ok := r.now.figures[benchmark][a.column.unit]
	return v == a.value || v > a.value == a.atLeast, ok && t.isFull(r)
}

// judged says of each aim of a row whether it is reached.
func (t *table) judged(row row, r results) (list []string) {
	for _, a := range row.aims {
		verdict := "missed"
		if reached, known := t.reached(a, row.benchmark, r); !known {
			verdict = "judged at the full size"
		} else if reached {
			verdict = "reached"
		}
		list = append(list, a.column.head+" "+a.limit()+": "+verdict)
	}
	return list
}

// limit writes what the aim's metric may be.
func (a aim) limit() string {
	sign := "≤ "
	if a.atLeast {
		sign = "≥ "
	}
	return sign + apart(strconv.FormatFloat(a.value, 'f', -1, 64), a.column.suffix)
}

// cell formats a figure, and reports whether it moved.
func (r results) cell(benchmark string, c column) (string, bool) {
	now, ok := r.now.figures[benchmark][c.unit]
	if !ok {
		return "–", false
	}
	was, ok := r.before.figures[benchmark][c.unit]
	if !ok || !r.comparable() || math.Abs(now-was) <= drift*math.Abs(was) {
		return figure(now, c.suffix), false
	}
	return "**" + figure(now, c.suffix) + "** (" + figure(was, c.suffix) + ")", true
}

// figure writes a number with three digits, an integer with all, thousands apart.
func figure(v float64, suffix string) string {
	digits := 0
	switch a := math.Abs(v); {
	case a == math.Trunc(a) || a >= 100:
	case a >= 10:
		digits = 1
	case a >= 1:
		digits = 2
	default:
		digits = min(6, 2-int(math.Floor(math.Log10(a))))
	}
	return apart(strconv.FormatFloat(v, 'f', digits, 64), suffix)
}

// apart writes a number with its thousands apart, and what it is of.
func apart(text, suffix string) string {
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
