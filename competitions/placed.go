package competitions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	write := func(name, text string) error {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("mark data: %w", err)
		}
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) //nolint:gosec // for everyone to read
	}
	if d.Rehearsal {
		if err := write(RehearsalMark, RehearsalText); err != nil {
			return err
		}
	}
	if d.pinsVersion == "v1" {
		return nil
	}
	return write(versionMark, d.pinsVersion+"\n")
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
