package rehearsal

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// table is the shape of a CSV or TSV file, or of a text file as a table of lines.
type table struct {
	*shape
	file     string
	lines    bool // a text file
	headless bool
	comma    rune
	columns  []*column
	seen     map[uint64]bool // digests of the rows
	n, files int
	chosen   []int        // rows whose ids are drawn; nil if ids are drawn in turn
	groups   map[int]bool // indexes of the key's values whose rows are chosen
	most     int          // rows of a group
}

// learn implements content.
func (t *table) learn(r io.Reader) error {
	t.files++
	buffer := bufio.NewReaderSize(r, 1<<16)
	next := func() ([]string, error) {
		line, err := buffer.ReadString('\n')
		if line != "" {
			err = nil
		}
		return []string{strings.TrimRight(line, "\r\n")}, err
	}
	if !t.lines {
		next = t.reader(buffer)
	}
	for row, err := next(); ; row, err = next() {
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t.n == mostRows || t.n > 0 && t.n >= mostCells/len(t.columns):
			t.partial = append(t.partial, plain(t.file))
			return nil
		case t.columns == nil:
			if t.start(row); !t.headless {
				continue
			}
		case !t.headless && t.files > 1 && len(row) > 0 && row[0] == t.columns[0].name:
			continue // the header of another file
		}
		t.n++
		t.seen[digest(strings.Join(row, "\x00"))] = true
		for i, c := range t.columns {
			if i < len(row) {
				c.add(row[i])
			} else {
				c.add("")
			}
		}
	}
}

// reader returns a function that reads the next row. The separator is the one that the
// first line has most.
func (t *table) reader(r *bufio.Reader) func() ([]string, error) {
	head, _ := r.Peek(1 << 14)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, _ = r.Discard(3)
	}
	head, _, _ = bytes.Cut(head, []byte("\n"))
	t.comma = ','
	for _, c := range ";\t|" {
		if bytes.Count(head, []byte(string(c))) > bytes.Count(head, []byte(string(t.comma))) {
			t.comma = c
		}
	}
	in := csv.NewReader(r)
	in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = t.comma, true, -1, true
	return in.Read
}

// start makes the columns. A table has no header if its first row has numbers that do not
// count up.
func (t *table) start(row []string) {
	t.seen = map[uint64]bool{}
	last := math.NaN()
	for i, v := range row {
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			t.headless = t.headless || x-last != 1 && (!math.IsNaN(last) || math.Abs(x-float64(i)) > 1 && x < 1000 || x != math.Trunc(x))
			last = x
		}
	}
	for i, v := range row {
		c := newColumn(strings.Clone(v))
		if t.headless {
			c.name = path.Base(t.file) + " " + strconv.Itoa(i+1)
		}
		t.headers[c.name] = true
		c.file, c.loose = t.file, strings.Contains(strings.ToLower(t.file), "sample")
		t.columns = append(t.columns, c)
	}
	t.shape.columns = append(t.shape.columns, t.columns...)
}

// key returns the column of ids by which rows are chosen, or nil: that with the fewest
// values if they come twice on average, so that groups of rows stay together, else that
// with the most.
func (t *table) key() (key *column, grouped bool) {
	for _, c := range t.columns {
		if c.kind != id {
			continue
		}
		group := 2*len(c.values) <= c.n-c.missing
		if key == nil || group && (!grouped || len(c.values) < len(key.values)) || !group && !grouped && len(c.values) > len(key.values) {
			key, grouped = c, group
		}
	}
	return key, grouped
}

// entityIn returns the entity of an id's cell, or nil if it is missing.
func (t *table) entityIn(c *column, row int) *entity {
	if c.cells[row] < 0 {
		return nil
	}
	_, stem, _ := t.split(c.values[c.cells[row]])
	return t.entity(stem)
}

// pick chooses entities of the key, fewer if rows have files. Of a group, so many rows
// are drawn at most.
func (t *table) pick(quota int) {
	key, grouped := t.key()
	t.groups, t.most = map[int]bool{}, 0
	if key == nil {
		return
	}
	each, factor, stems := (t.n+len(key.values)-1)/len(key.values), 4, t.stems(key.values)
	for i := range min(t.n, mostValues) {
		for _, c := range t.columns {
			if c.kind == id && t.entityIn(c, i) != nil && t.entityIn(c, i).folders != nil {
				quota, factor = min(quota, filesOf(mostDrawn)*quota/mostDrawn), 2
			}
		}
	}
	n := max(8, quota/each)
	t.choose(stems, n)
	t.most = max(2, min(3*each, factor*quota/n))
	for i, stem := range stems {
		if grouped && len(t.groups) < n && t.entity(stem).chosen {
			t.groups[i] = true
		}
	}
}

// take takes the rows of the chosen groups and those whose own id is chosen, and chooses
// their other ids.
func (t *table) take(quota int) {
	t.chosen = []int{}
	key, grouped := t.key()
	rows := map[int]int{}
	for i := range t.n {
		in := key == nil && i < quota
		for _, c := range t.columns {
			if c.kind == id && (c.unique() || c == key && !grouped) {
				e := t.entityIn(c, i)
				in = in || e != nil && e.chosen
			}
		}
		if grouped && t.groups[key.cells[i]] {
			rows[key.cells[i]]++
			in = in || rows[key.cells[i]] <= t.most
		}
		if !in {
			continue
		}
		t.chosen = append(t.chosen, i)
		for _, c := range t.columns {
			if c.kind != id {
				continue
			}
			if e := t.entityIn(c, i); e != nil {
				e.chosen = true
			}
		}
	}
}

// draw implements content.
func (t *table) draw(d *drawing, z float64) []byte {
	n := len(t.chosen)
	if t.columns == nil {
		return nil
	}
	if t.chosen == nil {
		n = min(t.n/t.files, filesOf(d.quota))
	}
	var rows [][]string
	if !t.headless {
		var header []string
		for _, c := range t.columns {
			header = append(header, c.name)
		}
		rows = append(rows, header)
	}
	for at := range n {
		row := t.row(d, at, z)
		for try := 0; try < 20 && t.seen[digest(strings.Join(row, "\x00"))]; try++ {
			for i, c := range t.columns {
				if c.kind == number || c.kind == date || c.kind == text {
					row[i] = d.cell(c, d.NormFloat64())
				}
			}
		}
		rows = append(rows, row)
	}
	var out bytes.Buffer
	if t.lines {
		for _, row := range rows {
			out.WriteString(row[0] + "\n")
		}
		return out.Bytes()
	}
	w := csv.NewWriter(&out)
	w.Comma = t.comma
	_ = w.WriteAll(rows) // a buffer takes everything
	return out.Bytes()
}

// row draws a row. It depends on the hidden values of its ids or, without any, on a
// value of its own. A category that names the folder of the id's file fits that.
func (t *table) row(d *drawing, at int, z float64) []string {
	row, sum, n := make([]string, len(t.columns)), 0.0, 0.0
	var folders []string
	if t.chosen != nil {
		for i, c := range t.columns {
			if c.kind != id {
				continue
			}
			cell := c.cells[t.chosen[at]]
			if row[i] = c.gap; cell >= 0 {
				row[i] = d.rename(c.values[cell], c.pattern)
				e := t.entityIn(c, t.chosen[at])
				folders = append(folders, e.folders...)
				sum, n = sum+e.z, n+1
			}
		}
		if z = d.NormFloat64(); n > 0 {
			z = sum / math.Sqrt(n)
		}
	}
	for i, c := range t.columns {
		switch at := slices.IndexFunc(folders, func(f string) bool { return c.kind == category && slices.Contains(c.values, f) }); {
		case at >= 0:
			row[i] = c.code(folders[at])
		case c.kind != id || t.chosen == nil:
			row[i] = d.cell(c, z)
		}
	}
	return row
}

// cell draws a value of a column that depends on z.
func (d *drawing) cell(c *column, z float64) string {
	if d.Float64()*float64(c.n) < float64(c.missing) {
		return c.gap
	}
	slope := c.slope(d.ID)
	u := stat.NormalCDF(float64(slope*z) + float64(math.Sqrt(1-float64(slope*slope))*d.NormFloat64()))
	switch c.kind {
	case boolean, category:
		return c.code(c.pick(u))
	case number:
		return c.format(c.at(u))
	case date:
		return c.date(c.at(u))
	case text:
		return d.sentence(c, u)
	case id:
		return d.inTurn(c)
	}
	return c.gap
}
