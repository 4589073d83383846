package prep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/program"
)

// Python is what a preparation by a definition's own Python needs besides the other
// options; see competitions.Python.
type Python struct {
	program.Machine
	// Raw returns the folder of the raw data on this machine, and a function that ends its
	// use, whatever the error.
	Raw func(context.Context) (dir string, release func() error, err error)
	// Log gets what the code prints.
	Log func(line []byte)
}

// Write implements io.Writer.
func (p Python) Write(b []byte) (int, error) {
	if p.Log != nil {
		p.Log(b)
	}
	return len(b), nil
}

// python prepares by the definition's own code, and copies what that wrote to the sink.
func (o Options) python(ctx context.Context, def *competitions.Definition) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prepare %s: %w", def.ID, err)
		}
	}()
	if o.Python.Raw == nil {
		return errors.New("the competition is prepared by its own Python, which is not run here")
	}
	raw, release, err := o.Python.Raw(ctx)
	defer func() { err = errors.Join(err, release()) }()
	if err != nil {
		return err
	}
	p := &program.Preparation{Machine: o.Python.Machine, Raw: raw, Work: o.Work, Log: o.Python}
	defer func() { err = errors.Join(err, p.Close()) }()
	o.tell(progress.State{What: "running Python"})
	if err := p.Run(ctx, def); err != nil {
		return err
	}
	done := progress.State{What: "writing"}
	folder := func(path string) error { return o.Out.Folder(ctx, path) }
	return p.Each(folder, func(path string, from fs.FS, name string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		done.Files++
		o.tell(done)
		return o.Out.Copy(ctx, path, Source{FS: from, Name: name})
	})
}

func (o Options) tell(s progress.State) {
	if o.Progress != nil {
		o.Progress(s)
	}
}
