package prep

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

var tableOutput = outputKind{
	name: "table", attrs: []string{"rows", "separator", "quote", "float_format", "index", "header"}, required: 1,
	doc:   `A CSV file as pandas.DataFrame.to_csv(index=False) writes it. separator is one character (","), quote "minimal", "nonnumeric" or "all", float_format a C format such as "%.10g". index = true adds a nameless first column of row numbers; header = false omits the first line.`,
	write: writeTable,
}

var quotings = map[string]table.Quoting{"minimal": table.QuoteMinimal, "nonnumeric": table.QuoteNonNumeric, "all": table.QuoteAll}

func writeTable(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	separator, quote, header := ",", "minimal", true
	var opts table.WriteOptions
	assign(in, "separator", &separator)
	assign(in, "quote", &quote)
	assign(in, "float_format", &opts.FloatFormat)
	assign(in, "index", &opts.Index)
	assign(in, "header", &header)
	opts.NoHeader = !header
	var known bool
	if opts.Quoting, known = quotings[quote]; !known {
		in.fail("quote", "Wrong value for quote", fmt.Errorf("write \"minimal\", \"nonnumeric\" or \"all\""))
	}
	if len(separator) != 1 {
		in.fail("separator", "Wrong value for separator", fmt.Errorf("%q is not one character", separator))
	}
	if in.failed() {
		return in.diags
	}
	opts.Comma = separator[0]
	t := in.table("rows")
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error { return table.WriteCSV(w, t, opts) })
}

var textOutput = outputKind{
	name: "text", attrs: []string{"lines", "header"}, required: 1,
	doc:   "A text file: header, if given, then a line for each cell of a column or element of a list. A missing cell is an empty line. Lines of a file (stream_lines) are read again and written unchanged but for the line end \\n; a last line without one keeps none.",
	write: writeText,
}

func writeText(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var lines, header []string
	var stream *transform.Lines
	in.read("lines", func(v cty.Value) error {
		if rows, err := toRows(v); err == nil {
			stream, _ = rows.(*transform.Lines)
		}
		if stream != nil {
			return nil
		}
		return intoLines(&lines)(v)
	})
	in.read("header", intoLines(&header))
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error {
		buf := bufio.NewWriter(w)
		for _, line := range slices.Concat(header, lines) {
			_, _ = buf.WriteString(line)
			_ = buf.WriteByte('\n')
		}
		if err := buf.Flush(); err != nil || stream == nil {
			return err
		}
		return transform.WriteLines(w, stream)
	})
}

var jsonOutput = outputKind{
	name: "json", attrs: []string{"value", "indent", "sort_keys"}, required: 1,
	doc:   "A JSON file of records or a value read from JSON, as Python's json.dump writes it, without a last newline. indent is the spaces per level (0: one line); sort_keys = true sorts members by name.",
	write: writeJSON,
}

func writeJSON(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var value pyjson.Value
	var opts pyjson.Style
	assign(in, "value", &value)
	assign(in, "indent", &opts.Indent)
	assign(in, "sort_keys", &opts.SortKeys)
	if opts.Indent < 0 || opts.Indent > 16 {
		in.fail("indent", "Wrong value for indent", fmt.Errorf("write a number between 0 and 16"))
	}
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error { return pyjson.Write(w, value, opts) })
}

var npyOutput = rowsOutput("npy", "an array, as npy(…) returns it", transform.WriteNpy,
	"A .npy file of an array's rows, as numpy.save writes it.")

var jsonLinesOutput = rowsOutput("json_lines", "records or a table", transform.WriteJSONLines,
	`A JSON object per line as pandas.DataFrame.to_json(orient="records", lines=True) writes it: ASCII without spaces, floats with at most ten decimals, null for missing values. rows are records, a table, or those of pandas_json_lines, which are read again and never held in memory.`)

var bsonOutput = rowsOutput("bson", "documents, as bson(…) returns them", transform.WriteBSON,
	"A BSON file of documents, as pymongo's bson.encode writes what it decoded. They are read again, checked and copied, never held in memory.")

var parquetOutput = rowsOutput("parquet", "rows", transform.WriteParquet,
	"A Parquet file of a table or of a Parquet file's rows: 64-bit integers, doubles, booleans and UTF-8 strings, Snappy, row groups of 1,048,576 rows. Its bytes are fixed, but not those of fastparquet or pyarrow.")

// rowsOutput is an output whose rows are of one type, described as want.
func rowsOutput[R transform.Rows](name, want string, write func(io.Writer, R) error, doc string) outputKind {
	return outputKind{name: name, attrs: []string{"rows"}, required: 1, doc: doc, write: func(r *runner, it *item) hcl.Diagnostics {
		in := r.read(it)
		rows, ok := in.rows("rows").(R)
		if !ok && !in.failed() {
			in.fail("rows", "Wrong value for rows", fmt.Errorf("expected %s", want))
		}
		if in.failed() {
			return in.diags
		}
		return r.create(it, func(w io.Writer) error { return write(w, rows) })
	}}
}
