package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// epoch is the modification time of every file.
var epoch = time.Unix(0, 0).UTC()

// writeLayer writes the files as a layer. It adds missing parent folders. Of two files
// with the same path, it keeps the later one.
func writeLayer(w io.Writer, files []File, work *progress.Work) error {
	entries := map[string]entry{}
	for _, f := range files {
		if err := f.walk(func(e entry) error { entries[e.guest] = e; return nil }); err != nil {
			return fmt.Errorf("add %s: %w", f.Guest, err)
		}
	}
	for _, guest := range slices.Collect(maps.Keys(entries)) {
		for dir := path.Dir(guest); dir != "/"; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = entry{guest: dir, mode: fs.ModeDir | 0o755}
			}
		}
	}
	out := tar.NewWriter(w)
	names := slices.Sorted(maps.Keys(entries))
	work.Begin("adding files", int64(len(names)), 0)
	for _, guest := range names {
		if guest != "/" {
			if err := entries[guest].write(out, work); err != nil {
				return fmt.Errorf("add %s: %w", guest, err)
			}
		}
		work.Add(1, 0)
	}
	return out.Close()
}

func (e entry) write(out *tar.Writer, work *progress.Work) error {
	h := &tar.Header{
		Name: strings.TrimPrefix(e.guest, "/"), Mode: int64(e.mode.Perm()), ModTime: epoch,
		Typeflag: tar.TypeReg, Size: int64(len(e.text)), Format: tar.FormatPAX,
	}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case e.mode.IsDir():
		h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
	case e.link != "":
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
	case e.host != "":
		return e.copy(out, h, work)
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	if h.Size == 0 {
		return nil
	}
	_, err := io.WriteString(out, e.text)
	return err
}

func (e entry) copy(out *tar.Writer, h *tar.Header, work *progress.Work) error {
	in, err := os.Open(e.host)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(out, work.Reader(in))
	return err
}

// mountPoints are files that exist only because the runtime mounts something there.
var mountPoints = []string{"etc/hosts", "etc/hostname", "etc/resolv.conf"}

// settle copies a layer and fixes its times. This makes the files that a command wrote
// as reproducible as possible.
func settle(w io.Writer, r io.Reader) error {
	in, out := archive.NewTarReader(r), tar.NewWriter(w)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		if slices.Contains(mountPoints, strings.Trim(path.Clean(h.Name), "/")) {
			continue
		}
		h.ModTime, h.AccessTime, h.ChangeTime = epoch, time.Time{}, time.Time{}
		h.Uname, h.Gname, h.Format = "", "", tar.FormatPAX
		if h.Typeflag == tar.TypeGNUSparse {
			h.Typeflag = tar.TypeReg // its holes are read as zeros
		}
		for key := range h.PAXRecords {
			if !strings.HasPrefix(key, "SCHILY.xattr.") {
				delete(h.PAXRecords, key)
			}
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}
