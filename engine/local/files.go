package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// RecordName is the name of the file with the answers of a run, a JSON list
// next to its pipeline.
const RecordName = "files.json"

// Encode writes answers as JSON.
func Encode(answers []Answer) ([]byte, error) {
	text, err := json.MarshalIndent(answers, "", "  ")
	return append(text, '\n'), err
}

// Decode parses the output of Encode. Empty data means no answers.
func Decode(text []byte) (answers []Answer, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, fmt.Errorf("read %s: %w", RecordName, err)
	}
	return answers, nil
}

// Answer is a question about a pipeline's folder with its answer.
type Answer struct {
	// Op is "file", "dir", "text" or "list".
	Op string `json:"op"`
	// Path is the path as written, relative to the folder.
	Path string `json:"path"`
	// Patterns are the exclusions from a folder, or the patterns of a list.
	Patterns []string `json:"patterns,omitempty"`

	// Ref is the content of a file or folder. Executable reports whether a file
	// may be executed.
	Ref        cache.Ref `json:"ref,omitzero"`
	Executable bool      `json:"executable,omitempty"`
	// Private reports whether it, or a file of the list, is private.
	Private bool `json:"private,omitempty"`
	// Text is the content of a file as a string.
	Text string `json:"text,omitempty"`
	// List has the sorted paths of files, relative to Path.
	List []string `json:"list,omitempty"`
}

// Files answers the language's questions about a pipeline's folder. It answers
// each question once. It is safe for concurrent use.
type Files struct {
	// read answers a question from the disk. It is nil if all answers are
	// recorded.
	read func(*Answer) error
	// dir is the folder. private are folders whose content must not reach
	// untrusted code.
	dir     string
	private []string
	// within is the only folder that may be read, without links; "" is any.
	within string
	// roots are the folders whose text may be shown, without links.
	roots   []string
	digests *Digests
	// shipped has the pipeline files that are used if the folder has none.
	shipped fs.FS

	mu      sync.Mutex
	answers map[string]*answer
	order   []string
}

type answer struct {
	once sync.Once
	Answer
	err error
}

// Recorded returns Files with these answers, which never use the disk. dir is
// the folder of the answers.
func Recorded(dir string, answers []Answer) *Files {
	f := &Files{dir: dir, answers: make(map[string]*answer, len(answers))}
	for _, a := range answers {
		known := &answer{Answer: a}
		known.once.Do(func() {})
		f.answers[a.key()] = known
		f.order = append(f.order, a.key())
	}
	return f
}

func (a *Answer) key() string {
	return a.Op + "\x00" + a.Path + "\x00" + strings.Join(a.Patterns, "\x00")
}

// Answers returns the answers so far, in the order of the first questions.
func (f *Files) Answers() []Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Answer, 0, len(f.order))
	for _, key := range f.order {
		if a := f.answers[key]; a.err == nil {
			list = append(list, a.Answer)
		}
	}
	return list
}

func (f *Files) ask(op, path string, patterns ...string) (*Answer, error) {
	return f.answer(Answer{Op: op, Path: f.clean(path), Patterns: patterns}, f.read)
}

// answer returns the known answer to a question, or the one found by read.
func (f *Files) answer(question Answer, read func(*Answer) error) (*Answer, error) {
	key := question.key()
	f.mu.Lock()
	a := f.answers[key]
	if a == nil {
		a = &answer{Answer: question}
		f.answers[key] = a
		f.order = append(f.order, key)
	}
	f.mu.Unlock()
	a.once.Do(func() {
		if read == nil {
			a.err = fmt.Errorf("%s was not read by the recorded run", question.Path)
			return
		}
		a.err = read(&a.Answer)
	})
	return &a.Answer, a.err
}

// clean returns a path relative to the folder, or unchanged if it is outside.
func (f *Files) clean(path string) string {
	path = filepath.Clean(filepath.FromSlash(path))
	if rel, err := filepath.Rel(cty.NormalizeString(f.dir), cty.NormalizeString(path)); filepath.IsAbs(path) && err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// File returns the file at path as content.
func (f *Files) File(path string) (*step.Artifact, error) {
	return f.artifact("file", path)
}

// Dir returns the folder at path as content, without paths that match a pattern
// in exclude or defaultExclude.
func (f *Files) Dir(path string, exclude []string) (*step.Artifact, error) {
	return f.artifact("dir", path, exclude...)
}

func (f *Files) artifact(op, path string, exclude ...string) (*step.Artifact, error) {
	a, err := f.ask(op, path, exclude...)
	if err != nil {
		return nil, err
	}
	return &step.Artifact{Ref: a.Ref, Local: &content{f, a}}, nil
}

// Any returns the file or folder at path as content.
func (f *Files) Any(path string) (*step.Artifact, error) {
	f.mu.Lock()
	known := f.answers[(&Answer{Op: "dir", Path: f.clean(path)}).key()]
	f.mu.Unlock()
	if known != nil || f.read != nil && isDir(f.at(path)) {
		return f.Dir(path, nil)
	}
	return f.File(path)
}

func isDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

// Text reads the file at path as a string.
func (f *Files) Text(path string) (*Answer, error) { return f.ask("text", path) }

// List finds the files below path that match a pattern.
func (f *Files) List(path, pattern string) (*Answer, error) { return f.ask("list", path, pattern) }

// content is a file or folder as an artifact.
type content struct {
	files *Files
	*Answer
}

func (c *content) Path() string     { return c.Answer.Path }
func (c *content) Executable() bool { return c.Answer.Executable }

// Place returns the path on this machine, or "" if it is only recorded.
func (c *content) Place() string {
	if c.files.read == nil {
		return ""
	}
	return c.files.at(c.Path())
}

// IsPrivate reports whether an artifact is a private local file.
func IsPrivate(a *step.Artifact) bool {
	c, ok := a.Local.(*content)
	return ok && c.Private
}

func (c *content) Text() (string, error) {
	if c.Op != "file" {
		return "", fmt.Errorf("%s is a folder, but a string is needed; use file(…) or fileset(…)", c.Path())
	}
	a, err := c.files.Text(c.Path())
	return a.Text, err
}

// Store implements step.Local.
func (c *content) Store(ctx context.Context, store cache.Building) error {
	if err := Present(ctx, store, c.Ref); !errors.Is(err, cache.ErrNotFound) && !errors.Is(err, cache.ErrCorrupt) {
		return err
	}
	if c.files.read == nil {
		if c.Op == "dir" { // reading the tree reports what is missing
			return nil
		}
		return fmt.Errorf("%s of the recorded run: %w", c.Path(), cache.ErrNotFound)
	}
	ref, err := c.files.store(ctx, store, c.Answer, unknown)
	switch {
	case err != nil:
		return fmt.Errorf("store %s: %w", c.Path(), err)
	case ref != c.Ref:
		return fmt.Errorf("%s changed after the plan was made; apply again", c.Path())
	}
	return nil
}

// Present returns an error unless the store has all of a file or tree.
func Present(ctx context.Context, store cache.Store, ref cache.Ref) error {
	if _, err := store.Has(ctx, ref.ID); err != nil || ref.Kind != cache.Tree {
		return err
	}
	return tree.Walk(ctx, store, ref, func(_ string, e tree.Entry) error {
		_, err := store.Has(ctx, e.ID)
		return err
	})
}

// Reads returns the part of the folder that was read and contains the absolute
// path, or lies below it, as written in the language. It returns "" if there is
// none.
func (f *Files) Reads(path string) string {
	for _, a := range f.Answers() {
		at := f.at(a.Path)
		switch {
		case a.Op == "list":
			continue // names only
		case checkout.Below(at, path):
		case a.Op != "dir" || !checkout.Below(path, at):
			continue
		default:
			rel, err := filepath.Rel(at, path)
			if excluded, bad := matcher(a.Patterns); err != nil || bad == nil && leftOut(excluded, filepath.ToSlash(rel)) {
				continue
			}
		}
		if a.Op == "dir" {
			return fmt.Sprintf("dir(%q)", a.Path)
		}
		return fmt.Sprintf("file(%q)", a.Path)
	}
	return ""
}

// leftOut reports whether a path or a folder above it is excluded.
func leftOut(excluded func(string) bool, name string) bool {
	for {
		if excluded(name) {
			return true
		}
		cut := strings.LastIndexByte(name, '/')
		if cut < 0 {
			return false
		}
		name = name[:cut]
	}
}

// Ship adds pipeline files that are used if the folder has none of that name. A
// nil file system adds none.
func (f *Files) Ship(files fs.FS) { f.shipped = files }

// Source returns the pipeline file at path as a string, from the folder if it
// exists there, and from the shipped files otherwise.
func (f *Files) Source(path string) (string, error) {
	if !f.IsShipped(path) {
		a, err := f.Text(path)
		return a.Text, err
	}
	a, err := f.answer(Answer{Op: "text", Path: f.clean(path)}, func(a *Answer) error {
		text, err := fs.ReadFile(f.shipped, a.Path)
		a.Text = string(text)
		return err
	})
	return a.Text, err
}

// Sources returns the pipeline files that match a pattern in the folder of the
// file from, relative to it and sorted. If from is shipped, they include the
// shipped files.
func (f *Files) Sources(from, pattern string) ([]string, error) {
	dir := path.Dir(filepath.ToSlash(from))
	if strings.HasPrefix(pattern, "../") {
		above, rest := doublestar.SplitPattern(pattern)
		a, err := f.List(path.Join(dir, above), rest)
		return lists.Of(a.List, func(name string) string { return path.Join(above, name) }), err
	}
	if !f.IsShipped(from) || !doublestar.ValidatePattern(pattern) {
		a, err := f.List(dir, pattern)
		return a.List, err
	}
	a, err := f.answer(Answer{Op: "list", Path: f.clean(dir), Patterns: []string{pattern}}, func(a *Answer) error {
		below, err := fs.Sub(f.shipped, a.Path)
		if err != nil {
			return err
		}
		shipped, err := doublestar.Glob(below, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return err
		}
		own, err := f.list(a, pattern)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.List = slices.Concat(own, shipped)
		slices.Sort(a.List)
		a.List = slices.Compact(a.List)
		return nil
	})
	return a.List, err
}

// IsShipped reports whether the pipeline file at path is a shipped one, because
// the folder has none.
func (f *Files) IsShipped(path string) bool {
	if f.read == nil || f.shipped == nil {
		return false
	}
	if _, err := os.Lstat(f.at(path)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := fs.Stat(f.shipped, f.clean(path))
	return err == nil
}
