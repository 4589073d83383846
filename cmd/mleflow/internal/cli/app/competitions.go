package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/pipelines"
)

// competitionsVariable lists folders of competitions as PATH lists programs'.
const competitionsVariable = "MLEFLOW_COMPETITIONS"

// Catalog returns the competitions that a command knows: those that ship, and
// those of the folders that the environment, the command line and the pipeline
// name.
func (l *Library) Catalog() (*competitions.Catalog, error) {
	shipped, err := competitions.Shipped()
	if err != nil {
		return nil, err
	}
	folders := append(l.OwnFolders(), l.Named...)
	if len(folders) == 0 {
		return shipped, nil
	}
	catalog, err := shipped.With(folders...)
	return catalog, Shown(err)
}

// Definition returns a competition by identifier.
func (l *Library) Definition(id string) (*competitions.Definition, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	def, err := catalog.Get(id)
	return def, Wrong(err)
}

// OwnFolders are the folders that the environment and the command line name.
func (l *Library) OwnFolders() []competitions.Folder {
	var folders []competitions.Folder
	for _, dir := range filepath.SplitList(l.Env(competitionsVariable)) {
		if dir != "" {
			folders = append(folders, competitions.Folder{Path: dir, From: competitionsVariable})
		}
	}
	for _, dir := range l.CompetitionDirs {
		folders = append(folders, competitions.Folder{Path: dir, From: "--competitions"})
	}
	return folders
}

// Shown makes what is wrong with definitions an error that is shown with the
// lines it is about.
func Shown(err error) error {
	if bad, ok := errors.AsType[*competitions.LoadError](err); ok {
		return &DiagError{List: bad.Diags, files: bad.Files}
	}
	return err
}

// UsePipeline notes a pipeline's folder and the competitions that it names. A file that cannot
// be read is told of when it is loaded.
func (l *Library) UsePipeline(path string) {
	l.folder = filepath.Dir(path)
	if src, err := config.ReadSource(path); err == nil {
		l.name(config.CompetitionFolders(path, src, nil, pipelines.Shipped))
	}
}

// UseRun notes the competitions that the pipeline of a past run names, as far
// as they are still where they were.
func (l *Library) UseRun(past *history.Past) error {
	sources, err := past.Sources()
	if err != nil {
		return err
	}
	path := past.Info.Pipeline
	for _, f := range config.CompetitionFolders(path, sources[filepath.Base(path)], sources, nil) {
		if _, err := os.Stat(f.Path); err == nil {
			l.name([]config.NamedFolder{f})
		}
	}
	return nil
}

// CatalogOf returns the competitions that a command knows about a run, those included that
// its pipeline names; nil is no run.
func (l *Library) CatalogOf(past *history.Past) (*competitions.Catalog, error) {
	if past != nil {
		if err := l.UseRun(past); err != nil {
			return nil, err
		}
	}
	return l.Catalog()
}

func (l *Library) name(folders []config.NamedFolder) {
	for _, f := range folders {
		from := fmt.Sprintf("%s:%d", f.Range.Filename, f.Range.Start.Line)
		l.Named = append(l.Named, competitions.Folder{Path: f.Path, From: from})
	}
}

// competitionFunctions are the functions of pipelines about a catalog.
func competitionFunctions(catalog *competitions.Catalog) map[string]function.Function {
	return map[string]function.Function{"competition": factsFunc(catalog), "competitions": competitionsFunc(catalog)}
}

// factsFunc returns competition("id"): the facts of its definition.
func factsFunc(catalog *competitions.Catalog) function.Function {
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "title": cty.String, "category": cty.String, "complexity": cty.String, "modality": cty.String,
		"metric": cty.String, "lower_is_better": cty.Bool, "size_gb": cty.Number, "teams": cty.Number})
	return function.New(&function.Spec{
		Description: "Returns the facts of a competition as an object: id, title, category, complexity, modality (the kind of data that the category means: audio, image, signal, tabular, text, video or other), metric, lower_is_better, size_gb (of the download in units of 10⁹ bytes; null if it is not known) and teams (of the human leaderboard). Example: gpus = competition(each.value).modality == \"image\" ? 1 : 0.",
		Params:      []function.Parameter{{Name: "id", Type: cty.String}},
		Type:        function.StaticReturnType(ty),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			d, err := catalog.Get(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			size := cty.NullVal(cty.Number)
			if d.Facts.SizeGB != 0 { // as it is written: 0.036, not the nearest binary number
				size = cty.MustParseNumberVal(strconv.FormatFloat(d.Facts.SizeGB, 'f', -1, 64))
			}
			return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(d.ID), "title": cty.StringVal(d.Title), "category": cty.StringVal(d.Category),
				"complexity": cty.StringVal(string(d.Complexity)), "modality": cty.StringVal(d.Modality()), "metric": cty.StringVal(d.Facts.MetricName),
				"lower_is_better": cty.BoolVal(d.Medals.LowerIsBetter), "size_gb": size, "teams": cty.NumberIntVal(int64(len(d.Medals.Scores)))}), nil
		},
	})
}

// competitionsFunc returns competitions("low", …): the identifiers of the
// competitions in the named sets and lists, sorted, each once; of all 75
// without an argument. An argument of one line is the name of a set, unless it
// is a competition's; one of several lines is a list, as file("my.txt") gives.
func competitionsFunc(catalog *competitions.Catalog) function.Function {
	return function.New(&function.Spec{
		Description: "Returns the identifiers of the competitions in the given sets, sorted, each once: low (also called lite), medium, high, all (those three), dev, systemcard, demo. Without a set, all. A set may also be the identifier of one competition, or the text of a list of them, one a line: competitions(file(\"my.txt\")). In a list, blank lines and everything after a # are ignored.",
		VarParam:    &function.Parameter{Name: "sets", Type: cty.String},
		Type:        function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) == 0 {
				args = []cty.Value{cty.StringVal("all")}
			}
			ids := []string{}
			for i, arg := range args {
				text := arg.AsString()
				members, err := catalog.ParseList(text)
				if !strings.Contains(text, "\n") && !slices.Contains(catalog.IDs(), text) {
					members, err = catalog.Set(competitions.Set(text))
				}
				if err != nil {
					return cty.NilVal, function.NewArgError(i, err)
				}
				ids = append(ids, members...)
			}
			slices.Sort(ids)
			return gocty.ToCtyValue(slices.Compact(ids), cty.List(cty.String))
		},
	})
}

// DataFlags are the flags of the commands that work on the reference's data
// folder.
type DataFlags struct {
	Dir string
	// Rehearsal chooses the data of rehearsals, in the folder rehearsal of Dir.
	Rehearsal bool
	// Version is the version of the competitions; "" is that of the data, which is v1
	// unless they are marked.
	Version string
	params  []string
}

// Register adds the flags.
func (f *DataFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Dir, "data-dir", "", "`DIR` with the competitions' data (default: data below the cache folder)")
	cmd.Flags().StringArrayVar(&f.params, "param", nil, "set a competition's parameter, `NAME=VALUE`; repeatable")
}

// RegisterVersion adds the flag of the version.
func (f *DataFlags) RegisterVersion(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.Version, "version", "", usage)
}

// CheckVersion returns an error if no competition has the version.
func (f *DataFlags) CheckVersion(a *App) error {
	if f.Version == "" {
		return nil
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	return Wrong(catalog.CheckVersion(f.Version))
}

// SpareMemory lets the collector run when a quarter more than what is in use
// was allocated, instead of as much again: tables are large and hold no
// pointers, so that collecting them costs next to nothing. GOGC overrides it.
func SpareMemory() { garbage.Grow(25) }

// Layout finds the folders of the data directory.
func (f *DataFlags) Layout(a *App) (dataset.Layout, error) {
	dir := f.Dir
	if dir == "" {
		folder, err := a.CacheFolder()
		if err != nil {
			return dataset.Layout{}, err
		}
		dir = filepath.Join(folder, "data")
	}
	if f.Rehearsal {
		dir = filepath.Join(dir, conditions.Rehearsal)
	}
	return dataset.Layout{Dir: dir}, nil
}

// Values returns the values of --param for a competition, of the types of their defaults: a
// string as it is, anything else in HCL. Each must be declared by one of all competitions,
// if any are given.
func (f *DataFlags) Values(def *competitions.Definition, all ...*competitions.Definition) (map[string]cty.Value, error) {
	given := map[string]string{}
	for _, text := range f.params {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, Usagef("--param: %q is not NAME=VALUE", text)
		}
		given[name] = value
	}
	var names []string
	for _, other := range all {
		names = append(names, other.ParamNames()...)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(all) > 0 && !slices.Contains(names, name) {
			return nil, Usagef("--param: no parameter %q. %s", name, diag.Suggest(name, names))
		}
	}
	values := map[string]cty.Value{}
	for _, param := range def.Params {
		text, ok := given[param.Name]
		if !ok {
			continue
		}
		if param.Default.Type() == cty.String {
			values[param.Name] = cty.StringVal(text)
			continue
		}
		expr, diags := bounded.ParseExpression([]byte(text), "--param")
		if !diags.HasErrors() {
			new(bounded.Budget).Meter(expr)
			values[param.Name], diags = bounded.Literal(expr)
		}
		if diags.HasErrors() {
			return nil, Usagef("--param: %s = %s is not a value of type %s", param.Name, text, param.Default.Type().FriendlyName())
		}
	}
	return values, nil
}

// SetFlags choose competitions by a set or by a list of one's own.
type SetFlags struct{ Split, List string }

// Register adds the flags.
func (f *SetFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Split, "split", "", "the competitions of a `SET`: low (or lite), medium, high, all, dev, systemcard, demo or own")
	cmd.Flags().StringVarP(&f.List, "list", "l", "", "the competitions that `FILE` lists, one a line")
}

// Given reports whether a choice was made.
func (f SetFlags) Given() bool { return f.Split != "" || f.List != "" }

// Ids returns the competitions that were chosen; what is wrong with the choice
// is wrong usage.
func (f SetFlags) Ids(catalog *competitions.Catalog) ([]string, error) {
	switch {
	case f.Split != "" && f.List != "":
		return nil, errors.New("choose competitions by --split or by --list, not both")
	case f.List == "":
		return catalog.Set(competitions.Set(f.Split))
	}
	text, err := os.ReadFile(f.List)
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	ids, err := catalog.ParseList(string(text))
	if err != nil {
		return nil, fmt.Errorf("read list %s: %w", f.List, err)
	}
	return ids, nil
}

// Name is what the chosen competitions are called: the set, or the list's file
// without its suffix.
func (f SetFlags) Name() string {
	if f.List == "" {
		return f.Split
	}
	base := filepath.Base(f.List)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
