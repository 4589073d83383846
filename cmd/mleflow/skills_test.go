package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// front is the front matter of a skill.
var front = regexp.MustCompile(`\A---\nname: ([a-z0-9-]+)\ndescription: (.+)\n---\n\n# `)

// TestSkills does what the skills for coding agents say, as they stand, each in an empty
// folder. llms.txt lists all of them, and links to nothing that is not there.
func TestSkills(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(list), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(link[1]))); err != nil {
			t.Errorf("llms.txt: %v", err)
		}
	}
	skills, err := filepath.Glob(filepath.Join(root, "docs", "skills", "*", "SKILL.md"))
	if err != nil || len(skills) != 10 {
		t.Fatalf("%d skills: %v", len(skills), err)
	}
	env := pageEnv(t)
	for _, path := range skills {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if m := front.FindStringSubmatch(string(text)); m == nil || m[1] != name || len(m[2]) > 1024 || !strings.Contains(m[2], "Use it ") {
				t.Errorf("the front matter is not name, %s, and description", name)
			}
			if !strings.Contains(string(list), "(docs/skills/"+name+"/SKILL.md)") {
				t.Errorf("llms.txt does not list %s", name)
			}
			follow(t, string(text), t.TempDir(), env)
		})
	}
}
