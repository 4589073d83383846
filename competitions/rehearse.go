package competitions

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// RehearsalName is the file next to a definition with the raw data for rehearsals: small
// and synthetic, in the layout and the formats of the real data.
const RehearsalName = "rehearsal.tar.zst"

// Rehearsable returns an error if the competition has no data for rehearsals.
func (d *Definition) Rehearsable() error {
	if _, err := fs.Stat(d.folder, RehearsalName); err != nil {
		return fmt.Errorf("competition %q has no data for a rehearsal: no file %s next to its definition. mleflow competition rehearsal makes one of the shape of raw data", d.ID, RehearsalName)
	}
	return nil
}

// HasData reports whether all of the raw data are files of the competition's folder.
func (d *Definition) HasData() bool {
	return len(d.Sources) > 0 && !slices.ContainsFunc(d.Sources, func(s Source) bool { return s.Kind != "file" })
}

// Rehearsed returns the definition for the data of a rehearsal. It has no pins, no
// leaderboard and so no medals, and the parameters have other defaults.
func (d *Definition) Rehearsed() *Definition {
	out := *d
	out.Rehearsal = true
	out.Checksums, out.Flags = Checksums{}, nil
	out.Medals = unranked()
	out.Medals.LowerIsBetter = d.Medals.LowerIsBetter
	out.Params = slices.Clone(d.Params)
	for i, p := range out.Params {
		if p.Rehearsal != cty.NilVal {
			out.Params[i].Default = p.Rehearsal
		}
	}
	return &out
}
