package mask

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/mleflow/mleflow/competitions"
)

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
