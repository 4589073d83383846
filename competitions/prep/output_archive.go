package prep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/plugins/data/matlab"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var archiveOutput = outputKind{
	name: "archive", attrs: []string{"format", "store", "folders"}, nested: true,
	doc:   `An archive of the outputs declared inside it, with destinations relative to it. format is "zip", "tar", "tar.gz" or "7z", by default of the suffix. store = true leaves zip members uncompressed; folders = true adds entries for members' folders, as Python's shutil.make_archive does. Members have no times: the same give the same bytes.`,
	write: writeArchive,
}

func writeArchive(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	format := archive.FormatOf(it.dest)
	var named string
	var opts archive.PackOptions
	var folders bool
	assign(in, "format", &named)
	assign(in, "store", &opts.Store)
	assign(in, "folders", &folders)
	if named != "" {
		format = archive.Format(named)
	}
	if in.failed() {
		return in.diags
	}
	var inner hcl.Diagnostics
	err := r.createFile(it.dest, func(w io.Writer) error {
		packer, err := archive.NewPacker(w, format, opts)
		if err != nil {
			return err
		}
		inside := &archiveSink{packer: packer}
		if folders {
			inside.folders = map[string]bool{".": true}
		}
		sub := *r
		sub.sink, sub.copiers, sub.counts = inside, 1, &counts{} // members are no files of the output
		for _, member := range it.inside {
			if inner = member.kind.write(&sub, member); inner.HasErrors() {
				return inner
			}
		}
		return packer.Close()
	})
	switch {
	case inner.HasErrors():
		return inner
	case err != nil:
		return wrong(it.block.DefRange(), "Cannot write "+it.dest, "%v.", err)
	}
	return nil
}

// archiveSink is a sink whose files are the members of an archive. Members
// are written one after the other.
type archiveSink struct {
	packer  archive.Packer
	folders map[string]bool // folders that have an entry; nil if none is to have one
}

// create starts a member, after its folders.
func (s *archiveSink) create(name string) (io.Writer, error) {
	if err := s.folder(path.Dir(name)); err != nil {
		return nil, err
	}
	return s.packer.Create(name)
}

// folder adds a folder and those that it is in.
func (s *archiveSink) folder(name string) error {
	if s.folders == nil || s.folders[name] {
		return nil
	}
	s.folders[name] = true
	if err := s.folder(path.Dir(name)); err != nil {
		return err
	}
	return s.packer.Folder(name)
}

// Create implements Sink.
func (s *archiveSink) Create(_ context.Context, name string) (File, error) {
	w, err := s.create(name)
	if err != nil {
		return nil, err
	}
	return &archiveMember{Writer: w}, nil
}

// Copy implements Sink.
func (s *archiveSink) Copy(ctx context.Context, name string, from Source) error {
	in, err := from.FS.Open(from.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := s.create(name)
	if err != nil {
		return err
	}
	if _, err := cache.Copy(ctx, w, in); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}

// Folder implements Sink.
func (s *archiveSink) Folder(_ context.Context, name string) error {
	if s.folders != nil {
		return s.folder(name)
	}
	return s.packer.Folder(name)
}

// archiveMember is a file of an archive. It cannot be dropped once begun, so closing
// it uncommitted spoils the archive, which is then dropped as a whole.
type archiveMember struct {
	io.Writer
	committed bool
}

// Commit implements File.
func (m *archiveMember) Commit() error {
	m.committed = true
	return nil
}

// Close implements File.
func (m *archiveMember) Close() error {
	if !m.committed {
		return errors.New("member was not finished")
	}
	return nil
}

var repackOutput = outputKind{
	name: "repack", attrs: []string{"from", "except", "clear"}, required: 1,
	doc:   `An archive of the raw data, packed again with the archives in it, in the format of its suffix. except lists patterns of members to leave out; clear = { "*.mat" = "Video.Labels" } empties a variable or field of MATLAB files. Without both it is copied byte for byte. Errors: a pattern without a match, a file without the field, a member with an archive's name that is none. Members have no times.`,
	write: writeRepack,
}

func writeRepack(r *runner, it *item) hcl.Diagnostics {
	in := r.read(it)
	var from string
	p := &repacker{ctx: r.ctx, work: r.work, matched: map[string]bool{}}
	assign(in, "from", &from)
	in.read("except", intoLines(&p.except))
	in.read("clear", func(v cty.Value) (err error) {
		p.clear, err = toTexts(v)
		return err
	})
	if in.failed() {
		return in.diags
	}
	if err := checkPath(from); err != nil {
		in.fail("from", "Wrong source", err)
		return in.diags
	}
	if len(p.except)+len(p.clear) == 0 {
		if err := r.sink.Copy(r.ctx, it.dest, Source{FS: r.raw, Name: from, Copied: &r.counts.bytes}); err != nil {
			return wrong(it.block.DefRange(), "Cannot copy files", "%v.", err)
		}
		r.counts.files.Add(1)
		return nil
	}
	return r.create(it, func(w io.Writer) (err error) {
		f, err := countedFS{r.raw, r.counts}.Open(from)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := p.archive(w, it.dest, f, from); err != nil {
			return fmt.Errorf("repack %s: %w", from, err)
		}
		return p.allMatched()
	})
}

// repacker packs archives again without some of their content.
type repacker struct {
	ctx     context.Context
	work    string
	except  []string          // patterns of members that are left out
	clear   map[string]string // by pattern, the part to empty
	matched map[string]bool   // which patterns have matched a name
}

// archive packs the archive that r reads into w. The names say the formats.
func (p *repacker) archive(w io.Writer, to string, r io.Reader, from string) (err error) {
	src, closeSrc, err := archive.SourceOf(r, p.work)
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
		if err := p.member(member, e.Name, r); err != nil {
			return fmt.Errorf("member %s: %w", e.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return packer.Close()
}

// member copies a member and leaves out the parts to be emptied.
func (p *repacker) member(w io.Writer, name string, r io.Reader) error {
	var paths []string
	for _, pattern := range sortedKeys(p.clear) {
		if matches(pattern, path.Base(name)) {
			p.matched[pattern] = true
			paths = append(paths, p.clear[pattern])
		}
	}
	switch {
	case paths != nil:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if data, err = matlab.Clear(data, paths...); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case archive.FormatOf(name) != "":
		return p.archive(w, name, r, name)
	}
	_, err := io.Copy(w, r)
	return err
}

// left reports whether a member is left out: its name, or that of a folder that
// it is in, matches.
func (p *repacker) left(name string) (left bool) {
	for _, pattern := range p.except {
		for at := name; at != "."; at = path.Dir(at) {
			if matches(pattern, path.Base(at)) {
				p.matched[pattern], left = true, true
			}
		}
	}
	return left
}

func (p *repacker) allMatched() error {
	for _, pattern := range slices.Concat(p.except, sortedKeys(p.clear)) {
		if !p.matched[pattern] {
			return fmt.Errorf("no member matches %q", pattern)
		}
	}
	return nil
}
