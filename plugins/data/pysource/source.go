package pysource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The most that is read. Larger files are skipped and reported.
const (
	MaxFile  = 64 << 20 // bytes of one file; the outputs of notebooks are large
	MaxCode  = 4 << 20  // bytes of code in one file
	MaxTotal = 64 << 20 // bytes of code in all
	MaxFiles = 100_000
)

// Source is a file of Python code.
type Source struct {
	Name  string // path, with slashes
	Lines []string
	Cells []Cell // of a notebook, in order
	// Commands are lines for IPython or a shell by their index; Lines has them empty.
	Commands map[int]string
}

// Cell is a code cell of a notebook.
type Cell struct {
	Number int `json:"number"` // among all cells, the first is 1
	Start  int `json:"start"`  // index of its first line
}

// Skipped is a file that was not read, and why.
type Skipped struct {
	Name   string `json:"file"`
	Reason string `json:"reason"`
}

// Parse reads a file; a name that ends in .ipynb says that it is a notebook.
func Parse(name string, data []byte) (*Source, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if strings.EqualFold(path.Ext(name), ".ipynb") {
		return fromNotebook(name, data)
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return nil, errors.New("it is a binary file")
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n")
	lines, commands := strings.Split(text, "\n"), map[int]string{}
	for i, line := range lines {
		// A notebook that was exported calls IPython where a magic was.
		if strings.HasPrefix(strings.TrimSpace(line), "get_ipython(") {
			lines[i], commands[i] = "", line
		}
	}
	return &Source{Name: name, Lines: lines, Commands: commands}, nil
}

// Tokens returns the file's tokens, computed each time.
func (s *Source) Tokens() []Token { return Tokens(strings.Join(s.Lines, "\n")) }

// size is the number of bytes of code.
func (s *Source) size() (n int) {
	for _, line := range s.Lines {
		n += len(line) + 1
	}
	return n
}

// Place names a line for people: "12", or "cell 3, line 5" of a notebook.
func (s *Source) Place(line int) string { return Place(s.Cells, line) }

// Place names a line of a file with these cells.
func Place(cells []Cell, line int) string {
	var in *Cell
	for i := range cells {
		if cells[i].Start > line {
			break
		}
		in = &cells[i]
	}
	if in == nil {
		return fmt.Sprint(line + 1)
	}
	return fmt.Sprintf("cell %d, line %d", in.Number, line-in.Start+1)
}

// Excerpt returns the lines from first to last, at most the given number, each
// cut to maxLine bytes. If lines are left out, it ends with "…".
func (s *Source) Excerpt(first, last, most int) string {
	first, last = max(first, 0), min(last, len(s.Lines)-1)
	cut := last-first+1 > most
	if cut {
		last = first + most - 1
	}
	var b strings.Builder
	for _, line := range s.Lines[min(first, len(s.Lines)):max(last+1, first)] {
		b.WriteString(clip(line))
		b.WriteByte('\n')
	}
	if cut {
		b.WriteString("…\n")
	}
	return b.String()
}

// maxLine is the longest line that an excerpt shows, in bytes.
const maxLine = 200

func clip(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "") + "…"
}

// IsCode reports whether a file is read: .py or .ipynb.
func IsCode(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".py" || ext == ".ipynb"
}

// ReadDir reads all scripts and notebooks of a folder in the order of their
// paths. Files that are too large or cannot be read as code are skipped and
// reported; symbolic links are not followed.
func ReadDir(dir fs.FS) (sources []*Source, skipped []Skipped, err error) {
	left := MaxTotal
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || !IsCode(name) || strings.Contains(name, ".ipynb_checkpoints/") {
			return nil
		}
		if len(sources)+len(skipped) == MaxFiles {
			return fmt.Errorf("there are more than %d files", MaxFiles)
		}
		s, err := readFile(dir, name, left)
		if err != nil {
			skipped = append(skipped, Skipped{name, err.Error()})
			return nil
		}
		left -= s.size()
		sources = append(sources, s)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read code: %w", err)
	}
	return sources, skipped, nil
}

// ReadFile reads one file.
func ReadFile(dir fs.FS, name string) (*Source, error) { return readFile(dir, name, MaxTotal) }

// readFile reads a file with at most left bytes of code.
func readFile(dir fs.FS, name string, left int) (*Source, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	s, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	switch n := s.size(); {
	case n > MaxCode:
		return nil, fmt.Errorf("it holds more than %d MiB of code", MaxCode>>20)
	case n > left:
		return nil, fmt.Errorf("all files together hold more than %d MiB of code", MaxTotal>>20)
	}
	return s, nil
}

// notebook holds the cells of a notebook. Outputs, which can be large, are skipped.
type notebook struct {
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		Info struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"` // nbformat 3
}

type cell struct {
	Type     string `json:"cell_type"`
	Source   lines  `json:"source"`
	Input    lines  `json:"input"`    // nbformat 3
	Language string `json:"language"` // nbformat 3
}

// lines are a string, or a list of strings.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("a cell's source is neither a string nor a list of strings")
	}
	*l = lines(strings.Join(many, ""))
	return nil
}

func (n *notebook) python() bool {
	language := strings.ToLower(n.Metadata.Kernel.Language + " " + n.Metadata.Info.Name)
	return strings.TrimSpace(language) == "" || strings.Contains(language, "python")
}

// fromNotebook returns the code cells of a notebook as one source.
func fromNotebook(name string, data []byte) (*Source, error) {
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("it is not a notebook: %w", err)
	}
	if !n.python() {
		return nil, fmt.Errorf("its language is not Python")
	}
	all := n.Cells
	for _, sheet := range n.Worksheets {
		all = append(all, sheet.Cells...)
	}
	s := &Source{Name: name, Commands: map[int]string{}}
	for i, c := range all {
		if c.Type != "code" || c.Language != "" && c.Language != "python" {
			continue
		}
		text := strings.Split(string(c.Source)+string(c.Input), "\n")
		written := slices.Clone(text)
		if !plainCell(text) {
			clear(text)
		}
		for line := range text {
			if text[line] == "" && written[line] != "" {
				s.Commands[len(s.Lines)+line] = written[line]
			}
		}
		s.Cells = append(s.Cells, Cell{Number: i + 1, Start: len(s.Lines)})
		s.Lines = append(s.Lines, text...)
	}
	return s, nil
}

// pythonCells are the cell magics whose cell is Python.
var pythonCells = wordSet("%%time %%timeit %%capture %%writefile %%prun %%python %%python3 %%pypy %%file %%cython")

// plainCell reports whether a cell holds Python, and empties the lines that
// IPython alone reads.
func plainCell(text []string) bool {
	first := true
	for i, line := range text {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		if first && strings.HasPrefix(trimmed, "%%") && !pythonCells[strings.Fields(trimmed)[0]] {
			return false
		}
		first = false
		text[i] = withoutMagic(line, trimmed)
	}
	return true
}

func withoutMagic(line, trimmed string) string {
	for _, timed := range []string{"%time ", "%timeit "} {
		if rest, ok := strings.CutPrefix(trimmed, timed); ok {
			return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + rest
		}
	}
	if c := trimmed[0]; c == '%' || c == '!' || c == '?' || strings.HasPrefix(trimmed, "get_ipython(") {
		return ""
	}
	return line
}
