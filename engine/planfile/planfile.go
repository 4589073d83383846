package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/plan"
)

// format is the version of the format, and maxSize the largest size of a file in bytes.
const format, maxSize = 1, 256 << 20

// File is a saved plan.
type File struct {
	Format int `json:"mleflow_plan"`
	// Digest is that of all else. It shows an accident, not a forgery.
	Digest string `json:"digest"`
	// Version is the version of the program.
	Version string `json:"version"`
	// Pipeline is the path of the pipeline's file, relative to the working directory.
	Pipeline string `json:"pipeline"`
	// Variables are the values of all variables that are not sensitive; see
	// config.Pipeline.Shown. Sensitive are the names of the others.
	Variables map[string]string `json:"variables,omitempty"`
	Sensitive []string          `json:"sensitive,omitempty"`
	Options   Options           `json:"options,omitzero"`
	// Files are the digests of what was read, by path: the files of the pipeline, what they
	// name, folders of competitions, and the lock file.
	Files map[string]string `json:"files"`
	// Steps are in the order of the plan.
	Steps []Step `json:"steps"`
}

// Options are the flags that chose what the plan is about.
type Options struct {
	Targets []string `json:"targets,omitempty"`
	Force   []string `json:"force,omitempty"`
	Retry   []string `json:"retry,omitempty"`
	Attempt string   `json:"attempt,omitempty"`
	// Rerun is --rerun, or nil without the flag.
	Rerun *bool `json:"rerun,omitempty"`
}

// Step is the decision on one step.
type Step struct {
	Address string      `json:"address"`
	Action  plan.Action `json:"action"`
	// ActionID is its key, or "" while it is deferred.
	ActionID string `json:"action_id,omitempty"`
	// Settled is the digest of what is known of the key of a deferred step.
	Settled string `json:"settled,omitempty"`
}

// Steps are the decisions of a plan.
func Steps(pl *plan.Plan) []Step {
	list := make([]Step, len(pl.Steps))
	for i := range pl.Steps {
		s := &pl.Steps[i]
		list[i] = Step{Address: s.Name, Action: s.Action, ActionID: s.ActionID, Settled: s.Settled}
	}
	return list
}

// Encode returns the text of the file.
func (f File) Encode() ([]byte, error) {
	f.Format = format
	var err error
	if f.Digest, err = f.digest(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err = enc.Encode(f)
	return out.Bytes(), err
}

func (f File) digest() (string, error) {
	f.Digest = ""
	text, err := json.Marshal(f)
	return digest.Of(text).String(), err
}

// Is reports whether the text of a file that was to be a pipeline is a saved plan. No
// pipeline begins with a brace.
func Is(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// Read reads the saved plan at path. It is nil if the file is something else, or cannot be
// read as a regular file: then it is taken for a pipeline.
func Read(path string) (*File, error) {
	real, err := checkout.Follow(path)
	if err != nil {
		return nil, nil
	}
	text, err := checkout.ReadFile(real, maxSize)
	if err != nil || !Is(text) {
		return nil, nil
	}
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read plan %s: %w", path, err)
	}
	return f, nil
}

// Parse reads the text of a saved plan.
func Parse(text []byte) (*File, error) {
	var head struct {
		Format  *int   `json:"mleflow_plan"`
		Version string `json:"version"`
	}
	switch err := json.Unmarshal(text, &head); {
	case err != nil:
		return nil, fmt.Errorf("it is neither a pipeline nor a whole plan: %w", err)
	case head.Format == nil:
		return nil, errors.New("it is JSON, and neither a pipeline nor what plan --out writes")
	case *head.Format != format:
		return nil, fmt.Errorf("its format is %d, and this program reads %d: plan again with this program", *head.Format, format)
	}
	f := &File{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, err
	}
	switch sum, err := f.digest(); {
	case err != nil:
		return nil, err
	case sum != f.Digest:
		return nil, errors.New("its digest is not that of its content: it was edited or damaged. Plan again")
	case !filepath.IsLocal(f.Pipeline) || strings.ContainsRune(f.Pipeline, 0):
		return nil, fmt.Errorf("it names the pipeline %q, which is not a path below the working directory", f.Pipeline)
	}
	return f, nil
}

// Class is the part of a program's version by which plans are exchanged: builds of one
// release make the same plans.
func Class(version string) string {
	class, _, _ := strings.Cut(version, "+")
	return class
}

// Now is what there is when a saved plan is to be applied.
type Now struct {
	Files map[string]string
	Plan  *plan.Plan
	// Own reports whether a run was an apply of this saved plan.
	Own func(run string) bool
}

// Differences says what is not as it was planned. Steps that an apply of the same plan did
// already, as one that was interrupted, are as planned.
func (f *File) Differences(now Now) []string {
	list := f.FileDifferences(now.Files)
	c := comparison{now: now, is: map[string]int{}, changed: make([]bool, len(now.Plan.Steps)), differs: make([]bool, len(now.Plan.Steps))}
	for i := range now.Plan.Steps {
		c.is[now.Plan.Steps[i].Name] = i
	}
	seen := map[string]bool{}
	for _, was := range f.Steps {
		at, found := c.is[was.Address]
		if seen[was.Address] = true; !found {
			list = append(list, was.Address+" is in the plan and not in the pipeline")
			continue
		}
		text := c.step(was, at)
		follows := slices.ContainsFunc(now.Plan.Steps[at].After, func(dep int) bool { return c.differs[dep] })
		if c.differs[at] = text != "" || follows; text != "" && !follows {
			list = append(list, was.Address+text)
		}
	}
	for i := range now.Plan.Steps {
		if name := now.Plan.Steps[i].Name; !seen[name] {
			list = append(list, name+" is in the pipeline and not in the plan")
		}
	}
	return list
}

// FileDifferences says which files are not as they were.
func (f *File) FileDifferences(now map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(f.Files)) {
		switch is, found := now[name]; {
		case !found:
			list = append(list, name+" is no longer read")
		case is != f.Files[name]:
			list = append(list, name+" changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, found := f.Files[name]; !found {
			list = append(list, name+" was not read")
		}
	}
	return list
}

// comparison compares the steps of a saved plan with those of now.
type comparison struct {
	now Now
	is  map[string]int
	// changed marks the steps that an apply of the plan did, or that depend on one. differs
	// marks those that differ otherwise, or that depend on one.
	changed, differs []bool
}

// verbs are what a plan says of a step.
var verbs = map[plan.Action]string{plan.Run: "to run", plan.Cached: "cached", plan.Deferred: "deferred", plan.Unneeded: "not needed"}

// step says how a step differs. Steps come after those that they depend on.
func (c *comparison) step(was Step, at int) string {
	is := &c.now.Plan.Steps[at]
	own := was.Action == plan.Run && is.Action == plan.Cached && is.Made != "" && c.now.Own(is.Made)
	before := slices.ContainsFunc(is.After, func(dep int) bool { return c.changed[dep] })
	c.changed[at] = own || before
	later := was.Action == plan.Deferred || is.Action == plan.Unneeded
	switch {
	case own, before && later:
	case was.Action != is.Action:
		text := fmt.Sprintf(" was %s, and is %s now", verbs[was.Action], verbs[is.Action])
		if is.Made != "" {
			text += ": run " + is.Made + " made its result"
		} else if why := lists.Of(is.Reasons, func(r plan.Reason) string { return r.Text }); len(why) > 0 {
			text += ": " + strings.Join(why, "; ")
		}
		return text
	}
	switch {
	case was.ActionID != "" && is.ActionID != "" && was.ActionID != is.ActionID:
		return fmt.Sprintf(" has other inputs: its key was %.12s, and is %.12s now", was.ActionID, is.ActionID)
	case !c.changed[at] && was.Settled != is.Settled:
		return " has other inputs: its competition, image, or what the program gives to it changed"
	}
	return ""
}
