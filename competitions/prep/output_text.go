package prep

import (
	"bufio"
	"io"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

var textOutput = outputKind{
	name: "text", attrs: []string{"lines", "header"}, required: 1,
	doc:   "A text file with the line header first, where it is given, and a line for each cell of a column or member of a list, each ended by \\n. A missing cell is an empty line.",
	write: writeText,
}

func writeText(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var lines, header []string
	in.read("lines", intoLines(&lines))
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
		return buf.Flush()
	})
}
