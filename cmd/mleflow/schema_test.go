package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli"
)

// printedVariable names a folder where mleflow leaves what it prints with --json.
const printedVariable = "MLEFLOW_TEST_PRINTED"

// printed is what one call printed.
type printed struct {
	Args   []string
	Output []byte
}

// recordJSON runs the command line and keeps a copy of what it prints with --json.
func recordJSON(args []string) int {
	folder := os.Getenv(printedVariable)
	if folder == "" || os.Getenv("MLEFLOW_CONFINED_BUNDLE") != "" || !slices.Contains(args, "--json") && !slices.Contains(args, "-json") {
		return cli.Main(args)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return cli.Main(args)
	}
	stdout, copied, done := os.Stdout, bytes.Buffer{}, make(chan error, 1)
	go func() { _, err := io.Copy(io.MultiWriter(stdout, &copied), r); done <- err }()
	os.Stdout = w
	status := cli.Main(args)
	_ = w.Close()
	if <-done == nil {
		text, _ := json.Marshal(printed{args, copied.Bytes()})
		if f, err := os.CreateTemp(folder, "*.json"); err == nil {
			_, _ = f.Write(text)
			_ = f.Close()
		}
	}
	return status
}

// schemas are those of docs/schemas, by command, in a form in which no object has
// a field that is not in it.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	dir := filepath.Join("..", "..", "docs", "schemas")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*jsonschema.Schema{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		closed(document)
		if err := compiler.AddResource(e.Name(), document); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		command := strings.TrimSuffix(e.Name(), ".json")
		if all[command], err = compiler.Compile(e.Name()); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
	}
	return all
}

// closed lets no object of a schema have other fields.
func closed(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, isObject := s["properties"].(map[string]any); isObject && s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, v := range s {
			closed(v)
		}
	case []any:
		for _, v := range s {
			closed(v)
		}
	}
}

// commandOf finds the command of a call among those that have a schema.
func commandOf(args []string, all map[string]*jsonschema.Schema) string {
	var words []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			words = append(words, a)
		}
	}
	for i := range words {
		if i+1 < len(words) && all[words[i]+"-"+words[i+1]] != nil {
			return words[i] + "-" + words[i+1]
		}
		if words[i] == "cache" && i+1 < len(words) && words[i+1] == "unpin" {
			return ""
		}
		if all[words[i]] != nil {
			return words[i]
		}
	}
	return ""
}

// checkPrinted validates what calls printed by the schema of their command.
func checkPrinted(t *testing.T, folder string) {
	all, seen := schemas(t), map[string]int{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var p printed
		if err := json.Unmarshal(text, &p); err != nil {
			return err
		}
		call := "mleflow " + strings.Join(p.Args, " ")
		command := commandOf(p.Args, all)
		documents, err := decodeAll(p.Output)
		switch {
		case len(p.Output) == 0:
			return nil
		case err != nil:
			t.Errorf("%s prints something else than JSON: %v\n%.300s", call, err, p.Output)
			return nil
		case command == "":
			t.Errorf("%s prints JSON, and docs/schemas has no schema for it:\n%.300s", call, p.Output)
			return nil
		}
		for _, document := range documents {
			if err := all[command].Validate(document); err != nil {
				t.Errorf("%s does not conform to docs/schemas/%s.json: %.2000v", call, command, err)
				break
			}
			seen[command]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		return // the script stopped early
	}
	var missing []string
	for command := range all {
		if seen[command] == 0 {
			missing = append(missing, command)
		}
	}
	slices.Sort(missing)
	t.Logf("%d commands printed JSON; none of %s", len(seen), fmt.Sprint(missing))
}

// decodeAll reads one document, or one a line.
func decodeAll(text []byte) (list []any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		var v any
		if err := dec.Decode(&v); err == io.EOF {
			return list, nil
		} else if err != nil {
			return list, err
		}
		list = append(list, v)
	}
}
