package mask

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
)

// row is one record of a CSV file as it is there, line end included.
type row struct {
	raw    []byte
	fields [][2]int // where each field is, quotes included
}

// rows reads the records of a CSV file. A quote opens a field at its start only,
// as in pandas.
type rows struct {
	r     *bufio.Reader
	comma byte
	row   row
}

// next reads a record; it is valid until the next call.
func (s *rows) next() (*row, error) {
	s.row.raw, s.row.fields = s.row.raw[:0], s.row.fields[:0]
	start, quoted := 0, false
	for {
		c, err := s.r.ReadByte()
		if errors.Is(err, io.EOF) && len(s.row.raw) > 0 {
			c, err, quoted = '\n', nil, false // the last line has no end
		}
		if err != nil {
			return nil, err
		}
		at := len(s.row.raw)
		s.row.raw = append(s.row.raw, c)
		switch {
		case c == '"' && (quoted || at == start):
			quoted = !quoted
			if quoted {
				continue
			}
			if next, err := s.r.Peek(1); err == nil && next[0] == '"' {
				quoted = true
				s.row.raw = append(s.row.raw, '"')
				_, _ = s.r.Discard(1)
			}
		case quoted:
		case c == s.comma:
			s.row.fields = append(s.row.fields, [2]int{start, at})
			start = at + 1
		case c == '\n':
			end := at
			if end > start && s.row.raw[end-1] == '\r' {
				end--
			}
			s.row.fields = append(s.row.fields, [2]int{start, end})
			return &s.row, nil
		}
	}
}

// cell returns the value of a field.
func (r *row) cell(i int) (value string, quoted bool) {
	raw := r.raw[r.fields[i][0]:r.fields[i][1]]
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' {
		return strings.ReplaceAll(string(raw[1:n-1]), `""`, `"`), true
	}
	return string(raw), false
}

// idField is a field of a table that holds ids.
type idField struct {
	at, rank int
	find     func(cell string) []int
}

// header returns the fields of ids that a header names, the most important
// first.
func (r rule) header(head *row) (ids []idField) {
	for i := range head.fields {
		name, _ := head.cell(i)
		if c, rank, ok := r.column(name); ok {
			ids = append(ids, idField{i, rank, func(cell string) []int { return span(c.ID, cell) }})
		}
	}
	slices.SortStableFunc(ids, func(a, b idField) int { return a.rank - b.rank })
	return ids
}

// byteOrderMark is a prefix that some programs write before text.
const byteOrderMark = "\ufeff"

// newRows skips a byte order mark at the start of its input.
func newRows(in io.Reader, comma byte) (*rows, bool) {
	r := bufio.NewReaderSize(in, 1<<16)
	mark, _ := r.Peek(len(byteOrderMark))
	marked := string(mark) == byteOrderMark
	if marked {
		_, _ = r.Discard(len(mark))
	}
	return &rows{r: r, comma: comma}, marked
}

// head reads the first record that is not a blank line.
func (s *rows) head() (*row, error) {
	for {
		head, err := s.next()
		if err != nil || strings.TrimSpace(string(head.raw)) != "" {
			return head, err
		}
	}
}

// eachID calls a function with every id of a table.
func (r rule) eachID(in io.Reader, comma byte, found func(id string)) error {
	s, _ := newRows(in, comma)
	head, err := s.head()
	if err != nil {
		return ignoreEOF(err)
	}
	ids := r.header(head)
	if len(ids) == 0 {
		return nil
	}
	for {
		rec, err := s.next()
		if err != nil {
			return ignoreEOF(err)
		}
		for _, id := range ids {
			if id.at >= len(rec.fields) {
				continue
			}
			cell, _ := rec.cell(id.at)
			if at := id.find(cell); at != nil {
				found(cell[at[0]:at[1]])
			}
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// table writes a table with other ids, its rows in another order.
func (m *masker) table(in io.Reader, w io.Writer, comma byte) error {
	s, marked := newRows(in, comma)
	head, err := s.head()
	if err != nil {
		return ignoreEOF(err)
	}
	if marked {
		if _, err := io.WriteString(w, byteOrderMark); err != nil {
			return err
		}
	}
	if _, err := w.Write(head.raw); err != nil {
		return err
	}
	ids := m.rule.header(head)
	if len(ids) == 0 {
		_, err := io.Copy(w, s.r)
		return err
	}
	sorted := m.newSorter()
	defer sorted.Close()
	var out []byte
	for {
		rec, err := s.next()
		if errors.Is(err, io.EOF) {
			return sorted.Each(func(_, line []byte) error {
				_, err := w.Write(line)
				return err
			})
		}
		if err != nil {
			return err
		}
		order, keep := uint64(0), false
		if out, order, keep = m.record(out[:0], rec, ids); !keep {
			continue
		}
		if err := sorted.add(order, out); err != nil {
			return err
		}
	}
}

// record appends a record with other ids and returns its order, and whether it
// stays.
func (m *masker) record(out []byte, rec *row, ids []idField) (line []byte, order uint64, keep bool) {
	ordered := false
	keys := make(map[int]string, len(ids))
	for _, id := range ids {
		if id.at >= len(rec.fields) {
			continue
		}
		cell, quoted := rec.cell(id.at)
		at := id.find(cell)
		if at == nil {
			continue
		}
		if !ordered {
			if !m.keys.keep(cell[at[0]:at[1]]) {
				return out, 0, false
			}
			order, ordered = m.keys.order(cell[at[0]:at[1]]), true
		}
		key := m.keys.key(cell[at[0]:at[1]])
		text := cell[:at[0]] + key + cell[at[1]:]
		if quoted {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		keys[id.at] = text
	}
	end := 0
	for i, f := range rec.fields {
		if text, ok := keys[i]; ok {
			out = append(append(out, rec.raw[end:f[0]]...), text...)
			end = f[1]
		}
	}
	return append(out, rec.raw[end:]...), order, true
}

// rule selects the places of ids.
type rule struct {
	columns        []competitions.MaskColumn
	names          *regexp.Regexp
	tables, opaque []string
}

func ruleOf(def *competitions.Definition) rule {
	m := def.Mask
	r := rule{names: m.Names, tables: m.Tables, opaque: m.Opaque}
	id, first := def.IDColumn(), cmp.Or(m.Order, def.IDColumn())
	if !slices.ContainsFunc(m.Columns, func(c competitions.MaskColumn) bool { return c.Name == id }) && id != "" {
		r.columns = append(r.columns, competitions.MaskColumn{Name: id})
	}
	r.columns = append(r.columns, m.Columns...)
	slices.SortStableFunc(r.columns, func(a, b competitions.MaskColumn) int {
		switch first {
		case b.Name:
			return 1
		case a.Name:
			return -1
		}
		return 0
	})
	return r
}

// column returns the rule of a column, and its rank among the id columns; ok is
// false if it holds no ids.
func (r rule) column(name string) (c competitions.MaskColumn, rank int, ok bool) {
	rank = slices.IndexFunc(r.columns, func(c competitions.MaskColumn) bool { return c.Name == name })
	if rank < 0 {
		return c, 0, false
	}
	return r.columns[rank], rank, true
}

// span returns where the id of a cell is; nil if there is none.
func span(re *regexp.Regexp, cell string) []int {
	if re == nil {
		return []int{0, len(cell)}
	}
	at := re.FindStringSubmatchIndex(cell)
	if len(at) >= 4 && at[2] >= 0 {
		return at[2:4]
	}
	if at == nil {
		return nil
	}
	return at[:2]
}
