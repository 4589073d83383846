package prep

import "github.com/mleflow/mleflow/plugins/data/transform"

var jsonLinesOutput = outputKind{
	name: "json_lines", attrs: []string{"rows"}, required: 1,
	doc:   `A JSON object per line as pandas.DataFrame.to_json(orient="records", lines=True) writes it: ASCII without spaces, floats with at most ten decimals, null for missing values. rows are records, a table, or those of pandas_json_lines, which are read again and never held in memory.`,
	write: rowsWriter("records or a table", transform.WriteJSONLines),
}
