package prep

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/plugins/data/table"
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
