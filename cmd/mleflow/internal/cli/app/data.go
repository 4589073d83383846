package app

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

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
	if err := catalog.CheckVersion(f.Version); err != nil {
		return Wrong(err)
	}
	return nil
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
