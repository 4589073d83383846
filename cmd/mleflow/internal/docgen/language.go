package docgen

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/config"
)

// Language returns the page on the pipeline language. added are the functions
// that are not part of the engine's own.
func Language(added map[string]function.Function) []byte {
	p := newPage("The pipeline language")
	p.text("A pipeline is one HCL file. References between blocks make the graph; nothing else does but `depends_on`. Names that are not known, arguments that are not expected and values of a wrong type are errors with their place in the file.")
	p.heading(2, "Blocks")
	for _, b := range config.Blocks {
		head := b.Type
		for _, label := range b.Labels {
			head += ` "` + strings.ToUpper(label) + `"`
		}
		p.heading(3, head)
		p.text(b.Doc)
		var rows [][]string
		for _, a := range b.Args {
			rows = append(rows, []string{code(a.Name), yes(a.Required), a.Doc})
		}
		p.table([]string{"Argument", "Required", "Meaning"}, rows)
	}
	p.heading(2, "Names")
	p.table([]string{"Name", "Meaning"}, [][]string{
		{"`var.NAME`", "The value of a variable."}, {"`local.NAME`", "A named expression."},
		{"`agent.NAME`, `agent[TEXT]`", "An agent block."}, {"`each.key`, `each.value`", "The element of `for_each`."},
		{"`path.pipeline`", "The folder of the pipeline file, as an absolute path; what Terraform calls `path.module`. Paths given to file, dir and their like, and in files, start there; other paths that are not absolute start at the working directory."},
		{"`step.KIND.NAME.OUTPUT`", "An output of a step."}, {"`step.KIND.NAME[KEY].OUTPUT`", "An output of one instance of a step with `for_each`."},
	})
	p.heading(2, "Functions of mleflow")
	added = maps.Clone(added)
	maps.Copy(added, config.LocalFunctions())
	p.functions(added)
	p.heading(2, "Standard functions")
	p.functions(config.Functions())
	return p.bytes()
}

func (p *page) functions(all map[string]function.Function) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		rows = append(rows, []string{code(name + "(" + paramNames(f) + ")"), descriptionOf(name, f)})
	}
	p.table([]string{"Function", "Gives"}, rows)
}

// descriptionOf is a function's own description, or ours where the library
// has none.
func descriptionOf(name string, f function.Function) string {
	switch {
	case f.Description() != "":
		return strings.ReplaceAll(f.Description(), `\"`, `"`)
	case name == "can":
		return "Returns true if the given expression can be evaluated without an error."
	case name == "try":
		return "Returns the value of the first given expression that can be evaluated without an error."
	}
	return ""
}

func paramNames(f function.Function) string {
	var names []string
	for _, param := range f.Params() {
		names = append(names, param.Name)
	}
	if v := f.VarParam(); v != nil {
		names = append(names, v.Name+"...")
	}
	return strings.Join(names, ", ")
}
