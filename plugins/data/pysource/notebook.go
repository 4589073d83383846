package pysource

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// notebook holds the cells of a notebook. Outputs, which can be large, are skipped.
type notebook struct {
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
			Name     string `json:"name"`
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
