package app

import (
	"fmt"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

// ReplaceFile writes a file, all or nothing, keeping the mode of an old one.
func ReplaceFile(path string, data []byte) error {
	if err := wholefile.Replace(path, wholefile.Bytes(data)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
