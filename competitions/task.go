package competitions

import (
	"fmt"
	"path"
	"strings"
)

// referenceCommit is the commit of the reference that the definitions follow.
const referenceCommit = "783b15af77404fbaffe7255b0c4a934b46153389"

// Repository is the address of the task texts: the reference's repository, or a
// substitute in tests.
type Repository struct {
	// URL is the address that the paths of pins are below.
	URL string
	// Instructions are what agents are told whatever the competition is.
	Instructions map[Task]Pin
}

var reference = Repository{
	URL: "https://raw.githubusercontent.com/openai/mle-bench/" + referenceCommit,
	Instructions: map[Task]Pin{
		TaskReference:  {Path: "environment/instructions.txt", SHA256: "7f6bfde87ed88d53afef1688dd9206753982baf4a4038e87d6069ab57224ec7a"},
		TaskObfuscated: {Path: "environment/instructions_obfuscated.txt", SHA256: "cbeb320b53cef0fe1040608183cfc9001b0fe0ca593f5e819b25317f4282ffe3"},
	},
}

// Reference is the reference's repository.
func Reference() *Repository { return &reference }

// Task selects the text of a competition that an agent gets. The task itself is
// the same with each.
type Task string

// The tasks.
const (
	// TaskReference: the reference's description and instructions.
	TaskReference Task = "reference"
	// TaskObfuscated: the reference's texts that do not name Kaggle or the
	// competition.
	TaskObfuscated Task = "obfuscated"
	// TaskOwn: the short text of the definition, which needs no network.
	TaskOwn Task = "own"
)

// Tasks returns the tasks there are.
func Tasks() []string {
	return []string{string(TaskReference), string(TaskObfuscated), string(TaskOwn)}
}

// Pin names a text that is fetched when needed and never kept with us.
type Pin struct {
	// Path is the path of the text in the reference's repository; empty if it is not
	// there.
	Path string
	// URL is its address where it is in none.
	URL string
	// SHA256 is the digest of its bytes in hexadecimal.
	SHA256 string
}

// Name is the name of the text's file.
func (p Pin) Name() string { return path.Base(p.URL + p.Path) }

// Texts are the texts for an agent, by pin.
type Texts struct {
	// Description is the text of the competition.
	Description Pin
	// Instructions are the rules that all competitions have in common.
	Instructions Pin
}

// Texts returns the pins of a task's texts. TaskOwn has none; a competition
// that has no text of the task is an error.
func (r *Repository) Texts(d *Definition, task Task) (Texts, error) {
	t := Texts{Instructions: r.Instructions[task], Description: d.Facts.Description}
	if task == TaskObfuscated {
		t.Description = d.Facts.Obfuscated
	}
	if t.Description.SHA256 == "" || t.Instructions.SHA256 == "" {
		return Texts{}, fmt.Errorf("competition %q has no %s text; use task = %q", d.ID, task, TaskOwn)
	}
	return t, nil
}

// Address returns the address from which a text can be fetched.
func (r *Repository) Address(p Pin) string {
	if p.URL != "" {
		return p.URL
	}
	return r.URL + "/" + p.Path
}

// OwnDescription is the text of the competition for TaskOwn, in our words.
func (d *Definition) OwnDescription() []byte {
	return fmt.Appendf(nil, "# %s\n\n%s\n", d.Title, strings.TrimSpace(d.Description))
}
