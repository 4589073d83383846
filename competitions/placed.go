package competitions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/nolink"
)

// RehearsalMark is the file next to prepared in a data directory that marks the data of a
// rehearsal, and RehearsalText is its content.
const (
	RehearsalMark = "rehearsal.txt"
	RehearsalText = "These data are those of a rehearsal, synthetic and tiny. No score on them says anything about the real competition.\n"
)

// versionMark is the file beside it with the version of the data; no file says v1.
const versionMark = "version.txt"

// Mark writes the marks of the definition's data into a competition's folder of a data
// directory.
func (d *Definition) Mark(dir string) error {
	write := func(name, text string, needed bool) error {
		if !needed {
			return nil
		}
		dir := nolink.Folder(dir)
		err := nolink.MkdirAll(dir, 0o777)
		if err == nil {
			err = nolink.WriteFile(filepath.Join(dir, name), []byte(text), 0o644, false)
		}
		if err != nil {
			return fmt.Errorf("mark data: %w", err)
		}
		return nil
	}
	if err := write(RehearsalMark, RehearsalText, d.Rehearsal); err != nil {
		return err
	}
	return write(versionMark, d.pinsVersion+"\n", d.pinsVersion != "v1")
}

// IsRehearsal reports whether a competition's folder of a data directory has the mark.
func IsRehearsal(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, RehearsalMark))
	return err == nil
}

// VersionOf returns the version of the data in a competition's folder of a data directory.
func VersionOf(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, versionMark))
	if errors.Is(err, fs.ErrNotExist) {
		return "v1", nil
	}
	if err != nil {
		return "", fmt.Errorf("read version of data: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// In returns the definition, which is v1, for the competition's data in a data directory:
// in their version, and Rehearsed if they are marked so.
func (d *Definition) In(dataDir string) (*Definition, error) {
	dir := filepath.Join(dataDir, d.ID)
	version, err := VersionOf(dir)
	if err != nil {
		return nil, err
	}
	if d, err = d.At(version); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, versionMark), err)
	}
	if IsRehearsal(dir) {
		d = d.Rehearsed()
	}
	return d, nil
}

// Place returns the definition in a version, and the data directory with its data: dataDir
// if its data are of the version or of one that prepares alike, else dataDir/VERSION. "" is
// the version of dataDir's data.
func (d *Definition) Place(dataDir, version string) (at *Definition, dir string, err error) {
	if at, err = d.In(dataDir); err != nil || version == "" || version == at.Version {
		return at, dataDir, err
	}
	want, err := d.At(version)
	if err != nil {
		return nil, "", err
	}
	dir = dataDir
	if at.pinsVersion != want.pinsVersion {
		dir = filepath.Join(dataDir, want.pinsVersion)
		if at, err = d.In(dir); err != nil {
			return nil, "", err
		}
		if _, err := os.Stat(filepath.Join(dir, d.ID)); err != nil || at.pinsVersion != want.pinsVersion {
			return nil, "", fmt.Errorf("%s is not version %s of the data; mleflow prepare -c %s --version %s writes that to the folder %s of the data directory",
				filepath.Join(dataDir, d.ID), version, d.ID, version, want.pinsVersion)
		}
	}
	if at.Rehearsal {
		want = want.Rehearsed()
	}
	return want, dir, nil
}

// CheckVersion returns an error if no competition has a version, v1, one of errata or a
// masked one.
func (c *Catalog) CheckVersion(version string) error {
	base, _ := Unmasked(version)
	known := []string{"v1"}
	for _, id := range c.ids {
		def, err := c.Get(id)
		if err != nil {
			return err
		}
		known = append(known, def.Versions()...)
	}
	slices.Sort(known)
	if known = slices.Compact(known); !slices.Contains(known, base) {
		return fmt.Errorf("no competition has a version %q; versions are %s, and masked ones such as v1m", version, strings.Join(known, ", "))
	}
	return nil
}

// Amended returns a version for one of many competitions: the latest that it has, such as
// v1, if no erratum makes the given one. A masked version is itself.
func (d *Definition) Amended(version string) string {
	have := d.Versions()
	if IsMasked(version) || version == "" || slices.Contains(have, version) {
		return version
	}
	return have[len(have)-1]
}

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
