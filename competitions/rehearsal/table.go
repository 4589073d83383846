package rehearsal

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
)

const (
	mostRows  = 200_000 // of a table that are read
	mostCells = 5_000_000
	ofText    = '\x1f' // the separator of a text file, which is a table of lines
)

// table is the shape of a CSV, TSV or text file.
type table struct {
	*shape
	file     string
	comma    rune
	single   bool // it is not one of many
	header   []string
	columns  []*column
	rows     [][]string // missing cells are ""
	seen     map[string]bool
	files    int
	entities [][]*entity // of the cells of ids, else nil
	unique   []bool      // columns of ids in which none comes twice

	keys    []*entity        // the ids by which rows are chosen
	key     int              // their column, or -1
	grouped bool             // they come twice on average
	groups  map[*entity]bool // keys whose rows are chosen
	most    int              // rows of each of them
	chosen  []int            // rows whose ids are drawn
}

// learn implements content.
func (t *table) learn(r io.Reader) error {
	in := csv.NewReader(r)
	in.Comma, in.LazyQuotes, in.FieldsPerRecord = t.comma, true, -1
	names, err, sample := []string{t.file}, error(nil), isSample(t.file)
	if t.comma != ofText {
		names, err = in.Read()
	}
	if t.files++; t.columns == nil {
		for _, name := range names {
			name = strings.TrimPrefix(name, "\ufeff")
			t.header = append(t.header, name)
			if t.shape.columns[name] == nil {
				t.shape.columns[name] = &column{name: name, sample: sample, counts: map[string]int{}}
			}
			t.columns = append(t.columns, t.shape.columns[name])
		}
	}
	for err == nil && len(t.rows) < mostRows && len(t.rows)*len(t.columns) < mostCells {
		var row []string
		if row, err = in.Read(); err == nil {
			row = append(row, make([]string, len(t.columns))...)[:len(t.columns)]
			t.seen[strings.Join(row, "\x00")] = true
			for i, c := range t.columns {
				row[i] = c.add(row[i], sample)
			}
			t.rows = append(t.rows, row)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// findIDs registers the ids. Rows are chosen by the ids that are fewest if they come twice
// on average, so that groups of rows stay together, else by those that are most.
func (t *table) findIDs() {
	t.unique, t.key = make([]bool, len(t.columns)), -1
	for range t.rows {
		t.entities = append(t.entities, make([]*entity, len(t.columns)))
	}
	for k, c := range t.columns {
		if c.kind != id {
			continue
		}
		counts, n, keys := map[*entity]int{}, 0, []*entity{}
		for i, row := range t.rows {
			if row[k] == "" {
				continue
			}
			_, stem, _ := t.split(row[k])
			e := t.entity(stem)
			e.listed = true
			t.entities[i][k] = e
			n++
			if counts[e]++; counts[e] == 1 {
				keys = append(keys, e)
			}
		}
		t.unique[k] = n == len(keys)
		group := 2*len(keys) <= n
		if t.key < 0 || group && (!t.grouped || len(keys) < len(t.keys)) || !group && !t.grouped && len(keys) > len(t.keys) {
			t.key, t.keys, t.grouped = k, keys, group
		}
	}
}

// pick chooses ids of the key.
func (t *table) pick(quota int) {
	if t.groups = map[*entity]bool{}; len(t.keys) == 0 || !t.single {
		return
	}
	n := max(8, quota*len(t.keys)/len(t.rows))
	choose(t.keys, n)
	t.most = max(2, 3*quota/n)
	for _, e := range t.keys {
		if e.chosen && len(t.groups) < n {
			t.groups[e] = true
		}
	}
}

// take takes the rows of the chosen groups and those of which an id is chosen that is in
// no other row, and chooses their other ids.
func (t *table) take(quota int) {
	t.chosen = nil
	if !t.single {
		quota = min(len(t.rows)/max(1, t.files), filesOf(quota))
	}
	taken := map[*entity]int{}
	for i, ids := range t.entities {
		in := (t.key < 0 || !t.single) && i < quota
		for k, e := range ids {
			switch {
			case e == nil || !e.chosen || !t.single:
			case t.unique[k] || k == t.key && !t.grouped:
				in = true
			case k == t.key && t.groups[e]:
				taken[e]++
				in = in || taken[e] <= t.most
			}
		}
		if !in {
			continue
		}
		t.chosen = append(t.chosen, i)
		for _, e := range ids {
			if e != nil {
				e.chosen = true
			}
		}
	}
}

// draw implements content. A row is drawn again if the raw data have it.
func (t *table) draw(d *drawing, z float64) []byte {
	var out bytes.Buffer // takes everything
	w := csv.NewWriter(&out)
	if w.Comma = t.comma; t.comma != ofText && t.header != nil {
		_ = w.Write(t.header)
	}
	for at := range t.chosen {
		row := t.row(d, at, z)
		for try := 0; try < 20 && t.seen[strings.Join(row, "\x00")]; try++ {
			row = t.row(d, at, z)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return out.Bytes()
}

// row draws a row with the ids of a real one. In a single table it depends on the hidden
// values of its ids or, without any, on a value of its own.
func (t *table) row(d *drawing, at int, z float64) []string {
	row, sum, n := make([]string, len(t.columns)), 0.0, 0.0
	var folders []string
	for i, e := range t.entities[t.chosen[at]] {
		if e != nil {
			folders = append(folders, e.folders...)
			row[i] = d.rename(t.rows[t.chosen[at]][i], t.columns[i].pattern)
			sum, n = sum+e.z, n+1
		}
	}
	switch {
	case t.single && n > 0:
		z = sum / math.Sqrt(n)
	case t.single:
		z = d.normal()
	}
	for i, c := range t.columns {
		switch of := slices.IndexFunc(folders, func(f string) bool { return c.kind == category && c.counts[f] > 0 }); {
		case of >= 0:
			row[i] = d.code(folders[of]) // of the row's file
		case c.kind == category && at < 2*len(c.values):
			row[i] = d.code(c.values[at/2]) // because many splits need two rows of a class
		case c.kind != id:
			row[i] = d.cell(c, z)
		case row[i] == "":
			row[i] = c.gap
		}
	}
	return row
}
