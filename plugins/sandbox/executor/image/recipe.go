package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
)

// version is part of every key. It changes when the same recipe would give a different
// image.
const version = "2"

// File is a file or folder of the host, with its path in the image.
type File struct {
	// Host is the path on the host; a folder includes its content. "" creates an empty
	// folder or the file Text.
	Host string
	// Text is the content if Host is "" and the guest path does not end with a slash.
	Text string
	// Guest is the absolute path in the image.
	Guest string
	// Mode has the permissions. 0 is 0755 for folders and executable files, and 0644
	// for other files. Other permission bits of the host are ignored, because they
	// depend on who checked the files out.
	Mode fs.FileMode
}

// Config is the configuration of an image's commands.
type Config struct {
	Env        map[string]string
	Entrypoint []string
	Command    []string
	Dir        string
	User       string
}

// Recipe describes how to build an image.
type Recipe struct {
	// Base is the base image: a Spec's Image, the path of a root file system in a tar,
	// or "" for nothing.
	Base string
	// Files are added first, in order.
	Files []File
	// Commands run next, one after the other as root, with the Files in place. Each is
	// a program and its arguments.
	Commands [][]string
	// Network means that the commands may use the host's network.
	Network bool
	Config  Config
}

// Static returns the recipe of an image with one static program at /usr/bin/name. It
// also has the files that programs expect: users, /tmp and the folders of an agent.
func Static(program, name string) Recipe {
	return Recipe{
		Files: []File{
			{Host: program, Guest: "/usr/bin/" + name, Mode: 0o755},
			{Guest: "/etc/passwd", Text: "root:x:0:0:root:/root:/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"},
			{Guest: "/etc/group", Text: "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
			{Guest: "/tmp/", Mode: fs.ModeSticky | 0o777},
			{Guest: "/home/"},
		},
		Config: Config{Env: map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
	}
}

// check rejects invalid recipes.
func (r Recipe) check() error {
	for _, f := range r.Files {
		if !path.IsAbs(f.Guest) || slices.Contains(strings.Split(f.Guest, "/"), "..") {
			return fmt.Errorf("file %q: write an absolute path without \"..\"", f.Guest)
		}
		if f.Host != "" && f.Text != "" {
			return fmt.Errorf("file %q: give a path on the host or the content, not both", f.Guest)
		}
	}
	for _, c := range r.Commands {
		if len(c) == 0 {
			return errors.New("an empty command")
		}
	}
	if len(r.Commands) > 0 && r.Base == "" {
		return errors.New("commands need a base that has programs")
	}
	return nil
}

// Key returns the digest of the recipe's inputs. resolve returns the digest of the
// base.
func (r Recipe) Key(resolve func(string) (string, error)) (key string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("key image: %w", err)
		}
	}()
	if err := r.check(); err != nil {
		return "", err
	}
	h := sha256.New()
	base := ""
	if r.Base != "" {
		if base, err = resolve(r.Base); err != nil {
			return "", err
		}
	}
	field(h, "image", version)
	field(h, "base", base)
	for _, f := range r.Files {
		if err := f.hash(h); err != nil {
			return "", err
		}
	}
	for _, v := range []struct {
		name  string
		value any
	}{{"commands", r.Commands}, {"network", r.Network}, {"config", r.Config}} {
		text, err := json.Marshal(v.value) // maps are written in sorted order
		if err != nil {
			return "", err
		}
		field(h, v.name, string(text))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func field(w io.Writer, name, value string) { fmt.Fprintf(w, "%s %q\n", name, value) }

// hash writes the properties and content of the file.
func (f File) hash(w io.Writer) error {
	return f.walk(func(e entry) error {
		field(w, "file", fmt.Sprintf("%s %v %s", e.guest, e.mode, e.link+e.text))
		if e.host == "" || !e.mode.IsRegular() {
			return nil
		}
		in, err := os.Open(e.host)
		if err != nil {
			return err
		}
		defer in.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, in); err != nil {
			return err
		}
		field(w, "content", hex.EncodeToString(sum.Sum(nil)))
		return nil
	})
}

// entry is one file, folder or link of the image.
type entry struct {
	guest, host, text, link string
	mode                    fs.FileMode
}

// walk visits the entries of the File, sorted and parents first.
func (f File) walk(visit func(entry) error) error {
	guest := path.Clean(f.Guest)
	if f.Host == "" {
		e := entry{guest: guest, text: f.Text, mode: f.Mode}
		if strings.HasSuffix(f.Guest, "/") {
			e.mode |= fs.ModeDir
		}
		if f.Mode == 0 {
			e.mode |= map[bool]fs.FileMode{true: 0o755, false: 0o644}[e.mode.IsDir()]
		}
		return visit(e)
	}
	return filepath.WalkDir(f.Host, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Host, name)
		if err != nil {
			return err
		}
		return f.visit(name, path.Join(guest, filepath.ToSlash(rel)), rel == ".", visit)
	})
}

func (f File) visit(name, guest string, top bool, visit func(entry) error) error {
	stat := os.Lstat
	if top {
		stat = os.Stat // the path itself may be a link to the wanted file
	}
	info, err := stat(name)
	if err != nil {
		return err
	}
	e := entry{guest: guest, host: name, mode: info.Mode()}
	switch {
	case e.mode&fs.ModeSymlink != 0:
		if e.link, err = os.Readlink(name); err != nil {
			return err
		}
	case !e.mode.IsRegular() && !e.mode.IsDir():
		return fmt.Errorf("%s is neither a file, a folder nor a link", name)
	case top && f.Mode != 0:
		e.mode = e.mode.Type() | f.Mode
	case e.mode.IsDir() || e.mode&0o111 != 0:
		e.mode = e.mode.Type() | 0o755
	default:
		e.mode = 0o644
	}
	return visit(e)
}

// ErrDynamic means that a program needs shared libraries.
var ErrDynamic = errors.New("it is linked with libraries, which the image would lack; build it with CGO_ENABLED=0")

// CheckStatic returns ErrDynamic for a program that cannot be the only file in an
// image; see Static.
func CheckStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return ErrDynamic
		}
	}
	return nil
}

// Programs are the images of static programs that this process has built, in the folder
// Dir.
type Programs struct {
	Dir string

	mu    sync.Mutex
	paths map[[2]string]string
}

// Build returns the path of an image with one static program as /usr/bin/NAME. It builds
// the image unless this process has done so before.
func (p *Programs) Build(ctx context.Context, program, name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{program, name}
	if path, ok := p.paths[key]; ok && touch(path) == nil {
		return path, nil
	}
	// Only this user can enter the folder.
	if err := errors.Join(CheckStatic(program), nolink.MkdirAll(p.Dir, 0o700)); err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	made, err := (&Builder{Dir: p.Dir}).Build(ctx, Static(program, name), io.Discard)
	if err != nil {
		return "", fmt.Errorf("make image of %s: %w", program, err)
	}
	if p.paths == nil {
		p.paths = map[[2]string]string{}
	}
	p.paths[key] = made.Path
	return made.Path, touch(made.Path)
}

// touch records the use of an image.
func touch(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

const (
	// MaxAge is the time without use after which runtimes remove an image.
	MaxAge = 7 * 24 * time.Hour
	// workAge is the age at which unfinished work counts as abandoned.
	workAge = 24 * time.Hour
)

// Sweep calls remove for the images in a folder that have not been used for longer than age,
// and for what abandoned work left there.
func Sweep(dir string, age time.Duration, remove func(path string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // there are no images
	}
	var errs []error
	for _, e := range entries {
		most := age
		if strings.HasPrefix(e.Name(), ".work-") {
			most = workAge
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > most {
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// Program returns machine code as a static executable file of Linux, which is loaded and
// entered at the first byte of the code.
func Program(machine elf.Machine, code []byte) ([]byte, error) {
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code))
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
			Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base,
			Filesz: size, Memsz: size, Align: 0x10000,
		},
		code,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
