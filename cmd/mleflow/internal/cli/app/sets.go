package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/competitions"
)

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
