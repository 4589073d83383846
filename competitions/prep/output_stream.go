package prep

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

var bsonOutput = outputKind{
	name: "bson", attrs: []string{"rows"}, required: 1,
	doc:   "A BSON file of documents, as pymongo's bson.encode writes what it decoded. They are read again, checked and copied, never held in memory.",
	write: writeBSON,
}

func writeBSON(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	rows := in.rows("rows")
	documents, ok := rows.(*transform.Documents)
	if !ok && !in.failed() {
		in.fail("rows", "Wrong value for rows", fmt.Errorf("expected documents, as bson(…) returns them"))
	}
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error { return transform.WriteBSON(w, documents) })
}

var parquetOutput = outputKind{
	name: "parquet", attrs: []string{"rows"}, required: 1,
	doc:   "A Parquet file of a table or of a Parquet file's rows: 64-bit integers, doubles, booleans and UTF-8 strings, Snappy, row groups of 1,048,576 rows. Its bytes are fixed, but not those of fastparquet or pyarrow.",
	write: writeParquet,
}

func writeParquet(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	rows := in.rows("rows")
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error { return transform.WriteParquet(w, rows) })
}
