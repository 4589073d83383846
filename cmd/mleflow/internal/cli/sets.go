package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/competitions"
)

// setFlags choose competitions by a set or by a list of one's own.
type setFlags struct{ split, list string }

// register adds the flags.
func (f *setFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.split, "split", "", "the competitions of a `SET`: low (or lite), medium, high, all, dev, systemcard, demo or own")
	cmd.Flags().StringVarP(&f.list, "list", "l", "", "the competitions that `FILE` lists, one a line")
}

// given reports whether a choice was made.
func (f setFlags) given() bool { return f.split != "" || f.list != "" }

// ids returns the competitions that were chosen; what is wrong with the choice
// is wrong usage.
func (f setFlags) ids(catalog *competitions.Catalog) ([]string, error) {
	switch {
	case f.split != "" && f.list != "":
		return nil, errors.New("choose competitions by --split or by --list, not both")
	case f.list == "":
		return catalog.Set(competitions.Set(f.split))
	}
	text, err := os.ReadFile(f.list)
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	ids, err := catalog.ParseList(string(text))
	if err != nil {
		return nil, fmt.Errorf("read list %s: %w", f.list, err)
	}
	return ids, nil
}

// name is what the chosen competitions are called: the set, or the list's file
// without its suffix.
func (f setFlags) name() string {
	if f.list == "" {
		return f.split
	}
	base := filepath.Base(f.list)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
