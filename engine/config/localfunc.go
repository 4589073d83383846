package config

import (
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// privateFile marks content from a private folder, with its path.
type privateFile string

// localFunctions are agents and the functions that read the pipeline's folder. others
// are what a template may also call, within the budget.
func localFunctions(files *local.Files, others map[string]function.Function, budget *bounded.Budget) map[string]function.Function {
	funcs := map[string]function.Function{
		"agents":     agentsFunc,
		"file":       fileFunc(files),
		"dir":        dirFunc(files),
		"filesha256": sumFunc(files),
		"fileset":    setFunc(files),
	}
	inner := maps.Clone(others)
	maps.Copy(inner, funcs)
	funcs["templatefile"] = templateFunc(files, inner, budget)
	return budget.Functions(funcs)
}

// LocalFunctions lists agents and the functions that read the pipeline's folder, for
// the reference pages.
func LocalFunctions() map[string]function.Function {
	return localFunctions(local.Recorded("", nil), map[string]function.Function{}, &bounded.Budget{})
}

func artifactValue(a *step.Artifact, err error) (cty.Value, error) {
	if err != nil {
		return cty.NilVal, err
	}
	return marked(step.NewArtifact(a), local.IsPrivate(a), a.Local.Path()), nil
}

// marked marks what was read of a file or folder, if that is private.
func marked(v cty.Value, private bool, path string) cty.Value {
	if private {
		v = v.Mark(privateFile(path))
	}
	return v
}

var pathParam = function.Parameter{Name: "path", Type: cty.String}

// fixed returns a function whose result always has the same type.
func fixed(doc string, ty cty.Type, impl func(args []cty.Value) (cty.Value, error), params ...function.Parameter) function.Function {
	return function.New(&function.Spec{Description: doc, Params: params, Type: function.StaticReturnType(ty), Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return impl(args)
	}})
}

func fileFunc(files *local.Files) function.Function {
	return fixed("Returns a file as content, which can be used wherever an output of a step can. Where a string is needed, it is the file's content (UTF-8, at most 1 MiB). Paths are relative to the pipeline's folder. The key holds the digest of the file. The text of a file outside the folder and its repository is not shown, unless -var gives the path.", step.ArtifactType, func(args []cty.Value) (cty.Value, error) {
		return artifactValue(files.File(args[0].AsString()))
	}, pathParam)
}

func dirFunc(files *local.Files) function.Function {
	return function.New(&function.Spec{
		Description: "Returns a folder as content, a tree. options is { exclude = […] } with patterns such as \"*.log\" or \"data/**\"; a pattern without a slash matches a name in any folder. .git, __pycache__, *.pyc, .ipynb_checkpoints, .DS_Store and the cache are always left out.",
		Params:      []function.Parameter{pathParam},
		VarParam:    &function.Parameter{Name: "options", Type: cty.DynamicPseudoType},
		Type:        function.StaticReturnType(step.ArtifactType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			exclude, err := excluded(args[1:])
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			return artifactValue(files.Dir(args[0].AsString(), exclude))
		},
	})
}

// excluded reads the options of dir.
func excluded(options []cty.Value) ([]string, error) {
	const want = "options must be an object such as { exclude = [\"*.log\"] }"
	switch {
	case len(options) == 0:
		return nil, nil
	case len(options) > 1 || options[0].IsNull() || !options[0].Type().IsObjectType():
		return nil, errors.New(want)
	}
	for name := range options[0].Type().AttributeTypes() {
		if name != "exclude" {
			return nil, fmt.Errorf("there is no option %q; %s", name, want)
		}
	}
	list := options[0].GetAttr("exclude")
	if list.IsNull() || !list.CanIterateElements() {
		return nil, errors.New(want)
	}
	var patterns []string
	for _, v := range list.AsValueSlice() {
		if v.IsNull() || v.Type() != cty.String {
			return nil, errors.New(want)
		}
		patterns = append(patterns, v.AsString())
	}
	return patterns, nil
}

func sumFunc(files *local.Files) function.Function {
	return fixed("Returns the SHA-256 of a file, in hexadecimal.", cty.String, func(args []cty.Value) (cty.Value, error) {
		a, err := files.File(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		return marked(cty.StringVal(a.Ref.ID.String()), local.IsPrivate(a), a.Local.Path()), nil
	}, pathParam)
}

func setFunc(files *local.Files) function.Function {
	return fixed("Returns the paths, relative to path, of the files below it that match a pattern, such as \"**/*.py\".", cty.Set(cty.String), func(args []cty.Value) (cty.Value, error) {
		found, err := files.List(args[0].AsString(), args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		v := cty.SetValEmpty(cty.String)
		if len(found.List) > 0 {
			v = cty.SetVal(lists.Of(found.List, cty.StringVal))
		}
		return marked(v, found.Private, found.Path), nil
	}, pathParam, function.Parameter{Name: "pattern", Type: cty.String})
}

func templateFunc(files *local.Files, inner map[string]function.Function, budget *bounded.Budget) function.Function {
	return fixed("Returns a file in which ${…} and %{…} are replaced, with the attributes of vars as names.", cty.String, func(args []cty.Value) (cty.Value, error) {
		path, vars := args[0].AsString(), args[1]
		if vars.IsNull() || !vars.Type().IsObjectType() && !vars.Type().IsMapType() {
			return cty.NilVal, function.NewArgErrorf(1, "vars must be an object or a map")
		}
		read, err := files.Text(path)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		v, diags := budget.Template(path, read.Text, &hcl.EvalContext{Variables: vars.AsValueMap(), Functions: inner})
		if err = diags; !diags.HasErrors() {
			v, err = convert.Convert(v, cty.String) // a template may be nothing but a file
		}
		if err != nil {
			return cty.NilVal, bounded.NewReadError(err, marked(cty.True, read.Private, read.Path).Marks())
		}
		return marked(v, read.Private, read.Path), nil
	}, pathParam, function.Parameter{Name: "vars", Type: cty.DynamicPseudoType})
}
