package prep

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

// runner holds the state that the outputs of one run share.
type runner struct {
	ctx       context.Context
	evaluator *evaluator
	raw       fs.FS
	sink      Sink
	counts    *counts
	// work is a folder for temporary files.
	work string
	// copiers is the number of files that one output copies at once.
	copiers int
}

// create writes one output file.
func (r *runner) create(it *item, write func(io.Writer) error) hcl.Diagnostics {
	if err := r.createFile(it.dest, write); err != nil {
		return wrong(it.block.DefRange(), "Cannot write "+it.dest, "%v.", err)
	}
	return nil
}

func (r *runner) createFile(dest string, write func(io.Writer) error) (err error) {
	f, err := r.sink.Create(r.ctx, dest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := bufio.NewWriterSize(&contextWriter{r.ctx, f, &r.counts.bytes}, 1<<18)
	if err := write(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	r.counts.files.Add(1)
	return nil
}

// contextWriter stops writing when the run is cancelled, and counts.
type contextWriter struct {
	ctx   context.Context
	w     io.Writer
	bytes *atomic.Int64
}

func (w *contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}

// intoLines reads a column or a list as texts.
func intoLines(out *[]string) func(cty.Value) error {
	return func(v cty.Value) error {
		if rows, ok := asColumn(v); ok {
			*out = rows.Texts()
			return nil
		}
		return intoGo(v, out)
	}
}

func verbsByName() map[string]transform.Verb {
	out := map[string]transform.Verb{}
	for _, v := range transform.Verbs() {
		out[v.Name] = v
	}
	return out
}
