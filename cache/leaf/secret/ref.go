package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxSize is the largest size of a secret in bytes.
	maxSize = 1 << 20
	// commandWait is how long a secret's command may keep its output open once it
	// has ended or the run is interrupted.
	commandWait = 2 * time.Second
)

var errSize = fmt.Errorf("it has more than %d bytes, too many for a secret; is it the right file or command?", maxSize)

// Ref says where the value of a secret is: env:NAME, file:PATH or command:LINE.
type Ref struct{ source, name, dir string }

// ParseRef parses a reference. The error does not quote the string, which may
// be a secret written there by mistake.
func ParseRef(s string) (Ref, error) {
	source, name, _ := strings.Cut(s, ":")
	switch source {
	case "env", "file", "command":
		if name != "" {
			return Ref{source: source, name: name}, nil
		}
	}
	return Ref{}, errors.New(`not a reference; write "env:NAME", "file:PATH" or "command:LINE"`)
}

type folderKey struct{}

type onlyKey struct{}

// Only returns a context in which references find the variables with these names and
// nothing else: those of a stranger's pipeline.
func Only(ctx context.Context, names []string) context.Context {
	return context.WithValue(ctx, onlyKey{}, names)
}

// refused is why a reference must find nothing, or nil.
func (r Ref) refused(ctx context.Context) error {
	names, limited := ctx.Value(onlyKey{}).([]string)
	if !limited || r.source == "env" && slices.Contains(names, r.name) {
		return nil
	}
	return fmt.Errorf("the pipeline may not use %s:%s of this machine", r.source, r.name)
}

// In returns a context in which relative paths of references start at a folder, and their
// commands run there: that of the pipeline, wherever the program was started.
func In(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, folderKey{}, dir)
}

// From returns the reference as one of a file in a folder, which is relative to that of In.
func (r Ref) From(dir string) Ref {
	r.dir = filepath.FromSlash(dir)
	return r
}

// folder returns the folder where relative paths start and commands run.
func (r Ref) folder(ctx context.Context) string {
	dir, _ := ctx.Value(folderKey{}).(string)
	return filepath.Join(dir, r.dir)
}

// File returns the path of the file that has the value; "" if no file has it.
func (r Ref) File(ctx context.Context) string {
	if r.source != "file" {
		return ""
	}
	return r.path(ctx)
}

// path returns the path of the file of a reference. ~ is the user's folder.
func (r Ref) path(ctx context.Context) string {
	if below, home := strings.CutPrefix(r.name, "~/"); home {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, below)
		}
	}
	if !filepath.IsAbs(r.name) {
		return filepath.Join(r.folder(ctx), r.name)
	}
	return r.name
}

// Resolve returns the value without its final line end: that of an environment
// variable, of a file, or the output of a command. A command runs in the shell,
// ends with ctx, and may print at most 1 MiB; a file may be as large. See In.
func (r Ref) Resolve(ctx context.Context) (string, error) {
	if err := r.refused(ctx); err != nil {
		return "", err
	}
	switch r.source {
	case "env":
		value, ok := os.LookupEnv(r.name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", r.name)
		}
		return value, nil
	case "file":
		data, err := readFile(r.path(ctx))
		return withoutLineEnd(data), err
	default:
		data, err := runCommand(ctx, r.folder(ctx), r.name)
		return withoutLineEnd(data), err
	}
}

// Missing returns the reason why a value will not be found, without reading it: a
// variable that is not set or a file that does not exist. It returns "" if nothing
// is known to be missing.
func (r Ref) Missing(ctx context.Context) string {
	if err := r.refused(ctx); err != nil {
		return err.Error()
	}
	switch r.source {
	case "env":
		if _, ok := os.LookupEnv(r.name); !ok {
			return "the environment variable " + r.name + " is not set"
		}
	case "file":
		if _, err := os.Stat(r.path(ctx)); errors.Is(err, fs.ErrNotExist) {
			return "there is no file " + r.path(ctx)
		}
	}
	return ""
}

// Bare reports whether the value is Bare, as far as a variable or a regular file says
// it.
func (r Ref) Bare(ctx context.Context) bool {
	if r.refused(ctx) != nil {
		return false
	}
	switch r.source {
	case "env":
		return Bare(os.Getenv(r.name))
	case "file":
		if info, err := os.Stat(r.path(ctx)); err == nil && info.Mode().IsRegular() {
			data, err := readFile(r.path(ctx))
			return err == nil && Bare(string(data))
		}
	}
	return false
}

// Later reports whether only a command has the value.
func (r Ref) Later() bool { return r.source == "command" }

func withoutLineEnd(data []byte) string { return strings.TrimRight(string(data), "\r\n") }

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxSize:
		return nil, fmt.Errorf("read %s: %w", path, errSize)
	}
	return data, nil
}

// runCommand returns the output of a command in a folder. The command ends with ctx, and
// processes that it leaves in the background are not waited for.
func runCommand(ctx context.Context, dir, line string) ([]byte, error) {
	var out boundedBuffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Stdout = &out
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	cmd.WaitDelay = commandWait
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("its command was stopped: %w", context.Cause(ctx))
	case out.full:
		return nil, fmt.Errorf("run its command: %w", errSize)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("its command left a process running that holds the output open; redirect the output of that process: %w", err)
	case err != nil:
		return nil, fmt.Errorf("its command failed: %w", err)
	}
	return out.data, nil
}

// boundedBuffer accepts at most as many bytes as a secret may have.
type boundedBuffer struct {
	data []byte
	full bool
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxSize {
		b.full = true
		return 0, errSize
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
