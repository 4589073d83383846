package prep

import (
	"io"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

var jsonLinesOutput = outputKind{
	name: "json_lines", attrs: []string{"rows"}, required: 1,
	doc: `A JSON object per line as pandas.DataFrame.to_json(orient="records", lines=True) writes it: ASCII without spaces, floats with at most ten decimals, null for missing values. rows are records, a table, or those of pandas_json_lines, which are read again and never held in memory.`,
	write: func(r *runner, it *item) hcl.Diagnostics {
		in := r.read(it)
		rows := in.rows("rows")
		if in.failed() {
			return in.diags
		}
		return r.create(it, func(w io.Writer) error { return transform.WriteJSONLines(w, rows) })
	},
}
