package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Preparation is one run of the function prepare of a definition's Python.
type Preparation struct {
	Machine
	// Raw is the folder of the raw data, which the code must not change.
	Raw string
	// Work is a folder for the files that the code writes; Close removes what is in it.
	Work string
	// Log gets what the code prints; nil drops it.
	Log io.Writer

	dir string
}

// preparationProcesses is the largest number of processes and threads of a preparation.
const preparationProcesses = 4096

// Run calls the function. Each then reads the files.
func (p *Preparation) Run(ctx context.Context, def *competitions.Definition) error {
	if p.Executor == nil {
		return errors.New("the competition is prepared by its own Python, which is not run here")
	}
	raw, err := filepath.Abs(p.Raw)
	if err == nil {
		raw, err = filepath.EvalSymlinks(raw)
	}
	if err != nil {
		return fmt.Errorf("find the raw data: %w", err)
	}
	p.Raw = raw
	if p.dir, err = os.MkdirTemp(p.Work, "python-"); err == nil {
		p.dir, err = filepath.Abs(p.dir)
	}
	if err == nil {
		p.dir, err = filepath.EvalSymlinks(p.dir)
	}
	if err != nil {
		return err
	}
	timeout, memory := def.Python.Limits(true)
	c := Call{
		Machine: p.Machine, What: "prepare", Dir: p.dir, Env: Environment, Python: PackagesOf(def.Python), Log: p.Log,
		Limits: executor.Limits{Timeout: timeout, MemoryBytes: memory, Processes: preparationProcesses},
	}
	data := p.at("data")
	if isolates(p.Executor) {
		// Code may write the paths of its folders to its files, as to archives.
		c.Mounts = []executor.Mount{{Host: p.Raw, Guest: p.Raw, ReadOnly: true}, {Host: data, Guest: guestData}}
		data = guestData
	}
	c.Command = []string{"python3", Runner, "prepare", def.Python.Function(def.Python.Prepare), data + "/raw", data + "/prepared/public", data + "/prepared/private"}
	err = errors.Join(c.Make(), Lay(def, c.Work()), os.MkdirAll(p.at("data/prepared/public"), 0o700), os.MkdirAll(p.at("data/prepared/private"), 0o700))
	if err == nil {
		err = p.layRaw(ctx, len(c.Mounts) > 0)
	}
	if err == nil {
		err = c.Run(ctx, def)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", def.Python.Function(def.Python.Prepare), err)
	}
	return nil
}

// guestData is the folder of raw and prepared in a sandbox, the same in every run.
const guestData = "/competition"

func (p *Preparation) at(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// isolates reports whether an executor keeps a program from files that it is not shown.
func isolates(ex executor.Executor) bool {
	i, ok := ex.(interface{ Isolates() bool })
	return ok && i.Isolates()
}

// layRaw makes the folder that the code gets as raw: folders of its own, with links to the
// files, or with copies of them. Links within the raw data become such files as well. In the
// sandbox of root the code is another user, so files that only root can read are copied.
func (p *Preparation) layRaw(ctx context.Context, link bool) error {
	closed := map[string]bool{}
	shut := func(path string, need fs.FileMode) bool {
		info, err := os.Stat(path)
		return closed[filepath.Dir(path)] || os.Geteuid() == 0 && (err != nil || info.Mode().Perm()&need != need)
	}
	return filepath.WalkDir(p.Raw, func(path string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(p.Raw, path)
		if err != nil {
			return err
		}
		to := filepath.Join(p.at("data/raw"), rel)
		if e.IsDir() {
			closed[path] = shut(path, 0o005)
			return os.Mkdir(to, 0o700)
		}
		real, err := p.inRaw(path)
		switch {
		case err != nil:
			return err
		case link && !shut(real, 0o004):
			return os.Symlink(real, to)
		}
		return copyFile(real, to)
	})
}

// inRaw returns the regular file of the raw data to which a path leads.
func (p *Preparation) inRaw(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return "", err
	case !checkout.Below(real, p.Raw):
		return "", fmt.Errorf("%s is a link that leads out of the raw data; put a copy there", path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is neither a regular file nor a link to one", path)
	}
	return real, nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// Each calls file with each file that the code wrote, by its path below public/ or private/
// and the folder and name to read it from, and folder with each folder. Code may have moved
// a link out of the raw folder: then it is the raw file.
func (p *Preparation) Each(folder func(path string) error, file func(path string, from fs.FS, name string) error) error {
	out, err := os.OpenRoot(p.at("data/prepared"))
	if err != nil {
		return err
	}
	defer out.Close()
	raw, err := os.OpenRoot(p.Raw)
	if err != nil {
		return err
	}
	defer raw.Close()
	return fs.WalkDir(out.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || path == ".":
			return err
		case e.IsDir() && (path == "public" || path == "private"):
			return nil
		case e.IsDir():
			return folder(path)
		case e.Type().IsRegular():
			return file(path, out.FS(), path)
		case e.Type()&fs.ModeSymlink == 0:
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		real, err := p.inRaw(filepath.Join(p.at("data/prepared"), path))
		if err != nil {
			return fmt.Errorf("the preparation left the link %s, which does not lead to a file of the raw data", path)
		}
		name, err := filepath.Rel(p.Raw, real)
		if err != nil {
			return err
		}
		return file(path, raw.FS(), filepath.ToSlash(name))
	})
}

// Close removes the files of the run.
func (p *Preparation) Close() error {
	if p.dir == "" {
		return nil
	}
	_ = filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that the code has closed
		}
		return nil
	})
	return os.RemoveAll(p.dir)
}
