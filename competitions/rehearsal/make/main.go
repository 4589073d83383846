package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

func main() {
	out := flag.String("o", "", "folder for the packed sets, one `DIR`/<id>/rehearsal.tar.zst each")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run draws and packs the named exercises, or all of them.
func run(out string, ids []string) error {
	if out == "" {
		return fmt.Errorf("give the folder for the sets with -o")
	}
	for _, e := range exercises() {
		if len(ids) > 0 && !slices.Contains(ids, e.id) {
			continue
		}
		packed := newSet(e).packed(archive.TarZstd)
		folder := filepath.Join(out, e.id)
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a folder of the checkout
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, competitions.RehearsalName), packed, 0o644); err != nil { //nolint:gosec // a file of the checkout
			return err
		}
		fmt.Printf("%8d %s\n", len(packed), e.id)
	}
	return nil
}
