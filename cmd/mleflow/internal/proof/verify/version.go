package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
)

// OtherVersion means that a bundle was made by step kinds of other versions than this
// program's, so that neither its keys nor anything derived from them can be compared. The
// bundle may be correct.
type OtherVersion struct {
	// Mleflow is the version that wrote the bundle, Kinds are the differences.
	Mleflow string
	Kinds   []string
}

// Error implements error.
func (o *OtherVersion) Error() string {
	return fmt.Sprintf("it is of another version of mleflow, not necessarily wrong: %s; verify it with mleflow %s", strings.Join(o.Kinds, ", "), o.Mleflow)
}

// Is makes it a mismatch.
func (o *OtherVersion) Is(err error) bool { return err == step.ErrMismatch }

// CheckVersions returns an OtherVersion if scores of the bundle rest on steps of
// kinds whose versions are not this program's.
func CheckVersions(x *bundle.Examined, kinds *step.Registry) error {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(x.Kinds)) {
		if !basis(name) {
			continue
		}
		if here := kinds.Kind(name); here != nil && here.Version != x.Kinds[name] {
			differ = append(differ, fmt.Sprintf("its %s steps have version %s, and here %s", name, x.Kinds[name], here.Version))
		}
	}
	if len(differ) > 0 {
		return &OtherVersion{x.Run.Version, differ}
	}
	return nil
}

// basis reports whether scores rest on steps of a kind.
func basis(kind string) bool {
	return slices.Contains([]string{conditions.AttemptKind, conditions.AggregateKind, conditions.ChecksumKind, conditions.DownloadKind, conditions.GradeKind, conditions.PrepareKind}, kind)
}
