package main

import (
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// bill is what we write of CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json):
// the program, Go's standard library and all modules that were linked.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
	// Properties has the module's sum as go.sum has it: that of a tree, which is
	// not a hash of a file.
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// billOf returns the bill of materials of a binary, by its build information.
func billOf(binary, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read build information: %w", err)
	}
	sum, err := sumOf(binary)
	if err != nil {
		return nil, err
	}
	program := componentOf("application", &debug.Module{Path: info.Main.Path, Version: version})
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{program}}
	b.Components = append(b.Components, componentOf("library", &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, componentOf("library", m))
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

func componentOf(kind string, m *debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: kind, Ref: url, Name: m.Path, Version: m.Version, PURL: url}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
