package conditions

import (
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
)

// Definition returns a competition's definition at a version, that of the rehearsal if the
// conditions are of one. Its errors are of the arguments competition and version.
func Definition(catalog *competitions.Catalog, id, version string, set []string) (*competitions.Definition, error) {
	def, err := catalog.Get(id)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	if def, err = def.At(version); err != nil {
		return nil, step.WrongArg("version", err)
	}
	if Rehearsed(set) {
		def = def.Rehearsed()
	}
	return def, nil
}
