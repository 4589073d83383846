package pipeline

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

//go:embed first_agent.hcl
var firstAgent string

// interpreters start files by their suffix, where no first line says what does.
var interpreters = map[string]string{
	".py": "python3", ".sh": "sh", ".bash": "bash", ".pl": "perl", ".rb": "ruby", ".js": "node", ".jl": "julia", ".r": "Rscript",
}

// agentPipeline returns a pipeline, to be written to file, for the program at
// agent and a model, "" for none. Without a program it writes one.
func agentPipeline(a *app.App, file, agent, model string) ([]byte, error) {
	blocks, err := modelBlocks(model)
	if err != nil {
		return nil, err
	}
	if agent == "" {
		if agent, err = writeModelAgent(a, file); err != nil {
			return nil, err
		}
	}
	name, err := besidePipeline(file, agent)
	if err != nil {
		return nil, err
	}
	base := path.Base(name)
	command, err := startOf(agent, base)
	if err != nil {
		return nil, err
	}
	packages, comment := "", ""
	if strings.HasPrefix(path.Base(command[0]), "python") {
		if command[0], comment, packages, err = startPython(a, file, agent, command[0]); err != nil {
			return nil, err
		}
	}
	for i, word := range command {
		command[i] = quoteHCL(word)
	}
	block := blockName(base)
	return []byte(strings.NewReplacer(append(blocks,
		"FILE", file, "PACKAGES\n", packages, "NAME", block, "COMMAND", "["+strings.Join(command, ", ")+"]"+comment,
		"QUOTED = QUOTED", quoteHCL(base)+" = "+quoteHCL("./"+name), "ENTRY", block+" = agent."+block,
	)...).Replace(firstAgent)), nil
}

// besidePipeline returns the path of the agent relative to the pipeline's folder,
// in which it must be.
func besidePipeline(file, agent string) (string, error) {
	info, err := os.Stat(agent)
	if err != nil {
		return "", app.Usagef("no agent: %v", err)
	}
	if !info.Mode().IsRegular() {
		return "", app.Usagef("%s is not a file; name the program that starts, and add its folder to files of the pipeline", agent)
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	whole, err := filepath.Abs(agent)
	if err != nil {
		return "", err
	}
	name, err := filepath.Rel(folder, whole)
	if err != nil || !filepath.IsLocal(name) {
		return "", app.Usagef("%s is not below the folder of %s, and only files there are inputs by content; copy it there", agent, file)
	}
	if name = filepath.ToSlash(name); !utf8.ValidString(name) {
		return "", app.Usagef("the name %q is not UTF-8; rename the file", agent)
	}
	return name, nil
}

// startOf returns the command for a program that is under the name base where
// it starts: what its first line says, else what its suffix means, else itself
// if it is executable.
func startOf(agent, base string) ([]string, error) {
	line, err := firstLine(agent)
	if err != nil {
		return nil, err
	}
	if text, found := strings.CutPrefix(line, "#!"); found && strings.TrimSpace(text) != "" {
		words := strings.Fields(text)
		if path.Base(words[0]) == "env" {
			words = slices.DeleteFunc(words[1:], func(w string) bool { return w == "-S" })
		}
		if len(words) > 0 {
			return append(words, base), nil
		}
	}
	if program := interpreters[strings.ToLower(path.Ext(base))]; program != "" {
		return []string{program, base}, nil
	}
	if info, err := os.Stat(agent); err == nil && info.Mode()&0o100 != 0 {
		return []string{"./" + base}, nil
	}
	return nil, app.Usagef("what starts %s? Give it a first line, such as #!/usr/bin/env python3, or a suffix, such as .py, or make it executable", agent)
}

// firstLine returns the first line of a file, of which it reads 4 KiB at most.
func firstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read agent: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read agent: %w", err)
	}
	return strings.TrimSpace(line), nil
}

var identifier = pattern.New(`^[A-Za-z][A-Za-z0-9_-]*$`)

// blockName names the agent after its file, unless the pipeline has that name or
// it says nothing.
func blockName(base string) string {
	name := strings.TrimSuffix(base, path.Ext(base))
	if !identifier.Regexp().MatchString(name) || slices.Contains([]string{"agent", "main", "start", "run", "dummy", "baseline"}, name) {
		return "mine"
	}
	return name
}

// quoteHCL writes a string of the language.
func quoteHCL(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}
