package prep

import (
	"bufio"
	"io"

	"github.com/hashicorp/hcl/v2"
)

var textOutput = outputKind{
	name: "text", attrs: []string{"lines"}, required: 1,
	doc:   "A text file with a line for each cell of a column or member of a list, each ended by \\n. A missing cell is an empty line.",
	write: writeText,
}

func writeText(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var lines []string
	in.read("lines", intoLines(&lines))
	if in.failed() {
		return in.diags
	}
	return r.create(it, func(w io.Writer) error {
		buf := bufio.NewWriter(w)
		for _, line := range lines {
			_, _ = buf.WriteString(line)
			_ = buf.WriteByte('\n')
		}
		return buf.Flush()
	})
}
