package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// checkCommand finds files of the pipeline's folder that a command names but
// that are not declared. The command runs elsewhere, and editing such a file
// would not run it again. That is an error if the name can mean nothing else,
// and a warning if it may be a file in an image or one that the command
// creates. declared are the declared paths and outputs.
func checkCommand(p *Pipeline, r hcl.Range, command, declared []string, image bool) (diags diag.List) {
	for i, word := range command {
		if i == 0 && word == "mleflow" { // this program, also where its archive was unpacked
			continue
		}
		for _, name := range p.local.Named(word) {
			if isDeclared(name, declared) {
				continue
			}
			advice := fmt.Sprintf("Declare it, and use its path where the command runs: files = { %q = %q }, and %q in the command. ", path.Base(name), name, path.Base(name))
			const why = "Its content is not an input, so the step would not run again after an edit."
			if filepath.IsAbs(word) || strings.Contains(word, folderOf(p.Path)) || !image && i < 2 && word == name {
				diags = append(diags, diag.Error(r, "Undeclared file in a command", "The command names %s, which is in the pipeline's folder. %s%s", name, advice, why))
			} else {
				diags = append(diags, diag.Warning(r, "Perhaps an undeclared file in a command",
					"The command names %q, and the pipeline's folder contains a file of that name. If you mean that file: %s%s", name, advice, why))
			}
		}
	}
	return diags
}

// isDeclared reports whether a path is declared or below a declared one.
func isDeclared(name string, declared []string) bool {
	return slices.ContainsFunc(declared, func(d string) bool {
		d = path.Clean(d)
		return d == "." || name == d || path.Base(name) == d || strings.HasPrefix(name, d+"/")
	})
}

// checkCommands checks the arguments of an instance that are commands, once if
// all instances of the block have the same.
func (x *expansion) checkCommands(inst *Instance, args []cty.Value) diag.List {
	s := inst.Step
	for i := range s.Kind.Args {
		a := &s.Kind.Args[i]
		if (a.Command || declares(a)) && !x.shared.has(s.Args[a.Name]) {
			return checkOwnCommands(x.pipeline, inst, args)
		}
	}
	same := &x.shared.commands
	same.once.Do(func() { same.diags = checkOwnCommands(x.pipeline, inst, args) })
	return copyDiags(same.diags)
}

// declares reports whether an argument names files that a command may use.
func declares(a *step.Attr) bool { return a.Name == "files" || a.Name == "outputs" }

func checkOwnCommands(p *Pipeline, inst *Instance, args []cty.Value) (diags diag.List) {
	var declared []string
	for i := range inst.Step.Kind.Args {
		if declares(&inst.Step.Kind.Args[i]) {
			declared = append(declared, namesIn(args[i])...)
		}
	}
	for i := range inst.Step.Kind.Args {
		a := &inst.Step.Kind.Args[i]
		if e := inst.Step.Args[a.Name]; a.Command && e != nil {
			diags = append(diags, checkCommand(p, e.Range(), stringsIn(args[i]), declared, false)...)
		}
	}
	return diags
}

// stringsIn returns the known strings of a list.
func stringsIn(v cty.Value) (list []string) {
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, e := it.Element(); e.IsKnown() && !e.IsNull() && e.Type() == cty.String {
			list = append(list, e.AsString())
		}
	}
	return list
}

// namesIn returns the keys of a map, or the strings of a list.
func namesIn(v cty.Value) (list []string) {
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsKnown() || !v.Type().IsMapType() {
		return stringsIn(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		key, _ := it.Element()
		list = append(list, key.AsString())
	}
	return list
}
