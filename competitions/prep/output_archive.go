package prep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache"
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
