package prep

import (
	"bufio"
	"io"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

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
