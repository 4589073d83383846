package main

import (
	"bytes"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// parquetOf is a Parquet file of columns.
func parquetOf(columns ...*table.Column) []byte {
	t, err := table.New(columns...)
	must(err)
	var b bytes.Buffer
	must(table.WriteParquet(&b, t))
	return b.Bytes()
}

// parquetColumns returns the named columns of a Parquet file as numbers, or all of them
// without names.
func parquetColumns(data []byte, names ...string) map[string][]float64 {
	p, err := table.OpenParquet(ctx, bytes.NewReader(data), int64(len(data)))
	must(err)
	if len(names) == 0 {
		names = p.Names()
	}
	out := map[string][]float64{}
	must(p.Scan(ctx, names, func(t *table.Table) error {
		for j, c := range t.Columns() {
			out[names[j]] = append(out[names[j]], c.Floats()...)
		}
		return nil
	}))
	return out
}
