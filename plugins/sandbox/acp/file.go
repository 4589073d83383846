package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// fileBytes limits the files that are read for the agent, which can read larger ones
// itself.
const fileBytes = 32 << 20

// readFile serves fs/read_text_file. Line counts from 1.
func readFile(params json.RawMessage) (any, error) {
	var asked struct {
		Path        string
		Line, Limit *int
	}
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	info, err := os.Stat(asked.Path)
	switch {
	case !filepath.IsAbs(asked.Path):
		return nil, &callError{Code: codeParams, Message: fmt.Sprintf("the path %q is not absolute", asked.Path)}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", asked.Path)
	}
	f, err := os.Open(asked.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytes+1))
	if err == nil && len(text) > fileBytes {
		err = fmt.Errorf("%s has more than %d MiB; read it by a program", asked.Path, fileBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if asked.Line != nil {
		lines = lines[min(max(*asked.Line-1, 0), len(lines)):]
	}
	if asked.Limit != nil {
		lines = lines[:min(max(*asked.Limit, 0), len(lines))]
	}
	return object{"content": strings.Join(lines, "")}, nil
}

// writeFile serves fs/write_text_file.
func writeFile(params json.RawMessage) (any, error) {
	var asked struct{ Path, Content string }
	if err := decode(params, &asked); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(asked.Path) {
		return nil, &callError{Code: codeParams, Message: fmt.Sprintf("the path %q is not absolute", asked.Path)}
	}
	if err := os.MkdirAll(filepath.Dir(asked.Path), 0o755); err != nil {
		return nil, err
	}
	return object{}, os.WriteFile(asked.Path, []byte(asked.Content), 0o644)
}
