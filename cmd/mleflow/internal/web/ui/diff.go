package ui

import "fmt"

// diffLine is a line of a comparison: added (+), removed (-), the same ( ) or a
// mark of a place (@).
type diffLine struct{ Sign, Text string }

const (
	// around is the number of equal lines shown around a change.
	around = 3
	// maxEdits bounds the search; texts that differ more are shown as removed and
	// added whole.
	maxEdits = 1000
)

// diffLines compares two texts line by line, with a few lines around each change.
// It finds a shortest list of changes.
//
// Source: Myers, An O(ND) Difference Algorithm and Its Variations (1986).
func diffLines(a, b []string) []diffLine {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	all := make([]diffLine, 0, len(a)+len(b))
	same := func(lines []string) {
		for _, l := range lines {
			all = append(all, diffLine{" ", l})
		}
	}
	same(a[:head])
	all = append(all, edits(a[head:len(a)-tail], b[head:len(b)-tail])...)
	same(a[len(a)-tail:])
	return hunks(all)
}

// edits is a shortest list of changes from a to b.
func edits(a, b []string) []diffLine {
	trace, ok := search(a, b)
	if !ok {
		var all []diffLine
		for _, l := range a {
			all = append(all, diffLine{"-", l})
		}
		for _, l := range b {
			all = append(all, diffLine{"+", l})
		}
		return all
	}
	var back []diffLine
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		before := k - 1
		if k == -d || k != d && v[k-1+maxEdits+1] < v[k+1+maxEdits+1] {
			before = k + 1
		}
		px := v[before+maxEdits+1]
		py := px - before
		for x > px && y > py {
			x, y = x-1, y-1
			back = append(back, diffLine{" ", a[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			back = append(back, diffLine{"+", b[py]})
		} else {
			back = append(back, diffLine{"-", a[px]})
		}
		x, y = px, py
	}
	out := make([]diffLine, len(back))
	for i, l := range back {
		out[len(back)-1-i] = l
	}
	return out
}

// search finds the furthest point of each diagonal for each number of changes.
func search(a, b []string) (trace [][]int, ok bool) {
	v := make([]int, 2*maxEdits+3)
	for d := 0; d <= min(len(a)+len(b), maxEdits); d++ {
		kept := make([]int, len(v))
		copy(kept, v)
		trace = append(trace, kept)
		for k := -d; k <= d; k += 2 {
			at := k + maxEdits + 1
			x := v[at-1] + 1
			if k == -d || k != d && v[at-1] < v[at+1] {
				x = v[at+1]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[at] = x
			if x >= len(a) && y >= len(b) {
				return trace, true
			}
		}
	}
	return nil, false
}

// hunks leaves out equal lines far from a change.
func hunks(all []diffLine) []diffLine {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Sign == " " {
			continue
		}
		for j := max(0, i-around); j <= min(len(all)-1, i+around); j++ {
			near[j] = true
		}
	}
	var out []diffLine
	line, skipped := 1, true
	for i, l := range all {
		if near[i] {
			if skipped {
				out = append(out, diffLine{"@", fmt.Sprintf(" line %d", line)})
			}
			out = append(out, l)
		}
		skipped = !near[i]
		if l.Sign != "-" {
			line++
		}
	}
	return out
}
