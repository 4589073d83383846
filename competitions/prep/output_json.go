package prep

import (
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

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

var npyOutput = outputKind{
	name: "npy", attrs: []string{"rows"}, required: 1,
	doc:   "A .npy file of an array's rows, as numpy.save writes it.",
	write: rowsWriter("an array, as npy(…) returns it", transform.WriteNpy),
}
