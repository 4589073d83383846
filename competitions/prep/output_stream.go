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
	write: rowsWriter("documents, as bson(…) returns them", transform.WriteBSON),
}

var parquetOutput = outputKind{
	name: "parquet", attrs: []string{"rows"}, required: 1,
	doc:   "A Parquet file of a table or of a Parquet file's rows: 64-bit integers, doubles, booleans and UTF-8 strings, Snappy, row groups of 1,048,576 rows. Its bytes are fixed, but not those of fastparquet or pyarrow.",
	write: rowsWriter("rows", transform.WriteParquet),
}

// rowsWriter returns what writes an output whose rows are of one type, described as want.
func rowsWriter[R transform.Rows](want string, write func(io.Writer, R) error) func(*runner, *item) hcl.Diagnostics {
	return func(r *runner, it *item) hcl.Diagnostics {
		in := r.read(it)
		rows, ok := in.rows("rows").(R)
		if !ok && !in.failed() {
			in.fail("rows", "Wrong value for rows", fmt.Errorf("expected %s", want))
		}
		if in.failed() {
			return in.diags
		}
		return r.create(it, func(w io.Writer) error { return write(w, rows) })
	}
}
