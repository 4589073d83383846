package mask

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions/prep"
)

// Folder is prepared data on their way into another folder.
type Folder struct {
	From, To string
	Work     *progress.Work
}

// Write makes To with the files that write writes, as a whole or not at all; what names
// that in an error.
func (f Folder) Write(what string, write func(Options) error) (err error) {
	folder, err := prep.NewFolder(f.To)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	err = write(Options{
		Public: os.DirFS(filepath.Join(f.From, "public")), Private: os.DirFS(filepath.Join(f.From, "private")), Out: folder, Progress: f.Work,
	})
	if err != nil {
		return err
	}
	return folder.Publish()
}
