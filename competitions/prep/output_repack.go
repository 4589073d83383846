package prep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/archive"
)

var repackOutput = outputKind{
	name: "repack", attrs: []string{"from", "except"}, required: 2,
	doc: "An archive of the raw data without the members whose name matches a pattern of except, in it and in the archives among its members, " +
		"which are packed anew in the same way; copied byte for byte where except is empty. The format is the one its name says. " +
		"A pattern that matches nothing, or a member that is named as an archive and is none, is an error, so that nothing stays by a slip. " +
		"Members have no times, so the same members give the same bytes.",
	write: writeRepack,
}

func writeRepack(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var from string
	var except []string
	in.text("from", &from)
	in.read("except", intoLines(&except))
	if in.failed() {
		return in.diags
	}
	if err := checkPath(from); err != nil {
		in.fail("from", "Wrong source", err)
		return in.diags
	}
	if len(except) == 0 {
		r.progress.start(it.dest, 1)
		if err := r.sink.Copy(r.ctx, it.dest, Source{FS: r.raw, Name: from}); err != nil {
			return hcl.Diagnostics{diag.Error(it.block.DefRange(), "Cannot copy files", "%v.", err)}
		}
		r.progress.finish(it.dest)
		return nil
	}
	return r.create(it, func(w io.Writer) (err error) {
		f, err := r.raw.Open(from)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		p := &repacker{ctx: r.ctx, work: r.work, except: except, matched: make([]bool, len(except))}
		if err := p.archive(w, it.dest, f, from); err != nil {
			return fmt.Errorf("repack %s: %w", from, err)
		}
		return p.allMatched()
	})
}

// repacker packs archives anew without some members.
type repacker struct {
	ctx     context.Context
	work    string
	except  []string
	matched []bool // which patterns have matched a name
}

// archive packs the archive that r reads into w. The names say the formats.
func (p *repacker) archive(w io.Writer, to string, r io.Reader, from string) (err error) {
	src, closeSrc, err := p.source(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSrc()) }()
	format, err := archive.FormatIn(src, from)
	if err != nil {
		return err
	}
	packer, err := archive.NewPacker(w, archive.FormatOf(to), archive.PackOptions{})
	if err != nil {
		return err
	}
	err = archive.Walk(p.ctx, src, format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		switch {
		case p.left(e.Name):
			return nil
		case e.Folder:
			return packer.Folder(e.Name)
		}
		member, err := packer.Create(e.Name)
		if err != nil {
			return err
		}
		if archive.FormatOf(e.Name) == "" {
			_, err = io.Copy(member, r)
			return err
		}
		if err := p.archive(member, e.Name, r, e.Name); err != nil {
			return fmt.Errorf("member %s: %w", e.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return packer.Close()
}

// left reports whether a member is left out: its name, or that of a folder
// that it lies in, matches.
func (p *repacker) left(name string) (left bool) {
	for i, pattern := range p.except {
		for at := name; at != "."; at = path.Dir(at) {
			if matches(pattern, path.Base(at)) {
				p.matched[i], left = true, true
			}
		}
	}
	return left
}

func (p *repacker) allMatched() error {
	for i, pattern := range p.except {
		if !p.matched[i] {
			return fmt.Errorf("no member matches %q", pattern)
		}
	}
	return nil
}

// source makes what r reads readable at any place, by a file in the work folder
// if need be.
func (p *repacker) source(r io.Reader) (archive.Source, func() error, error) {
	if f, ok := r.(interface {
		io.ReaderAt
		Stat() (os.FileInfo, error)
	}); ok {
		info, err := f.Stat()
		if err != nil {
			return archive.Source{}, nil, err
		}
		return archive.Source{ReaderAt: f, Size: info.Size()}, func() error { return nil }, nil
	}
	spool, err := os.CreateTemp(p.work, "member-")
	if err != nil {
		return archive.Source{}, nil, err
	}
	drop := func() error { return errors.Join(spool.Close(), os.Remove(spool.Name())) }
	n, err := io.Copy(spool, r)
	if err != nil {
		return archive.Source{}, nil, errors.Join(err, drop())
	}
	return archive.Source{ReaderAt: spool, Size: n}, drop, nil
}
