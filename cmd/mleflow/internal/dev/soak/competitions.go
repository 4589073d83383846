package soak

import (
	_ "embed" // the figures
	"encoding/json"
	"fmt"

	"github.com/mleflow/mleflow/competitions/footprint"
)

// competition is what is known of one before anything of it is there.
type competition struct {
	ID         string  `json:"id"`
	Complexity string  `json:"complexity"`
	SizeGB     float64 `json:"size_gb"`
	// Tables says that the data are tables or texts, of which preparing makes
	// new ones, and no files that are copied.
	Tables bool `json:"tables"`
	// Files is the number of files to learn from, where it is known; there
	// are more.
	Files int64 `json:"files"`
}

//go:embed competitions.json
var figures []byte

// competitions returns all 82, sorted by name. The 7 for development have no
// figures.
func competitions() ([]competition, error) {
	var all []competition
	if err := json.Unmarshal(figures, &all); err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	return all, nil
}

// Raw is the size of the raw data, and the most that the download of it is.
func (c competition) Raw() int64 { return int64(c.SizeGB * 1e9) }

// prepared is how much preparing adds to the cache.
func (c competition) prepared() int64 {
	if c.Tables {
		return c.Raw()
	}
	return int64(float64(c.Raw()) * footprint.BesideFactor)
}
