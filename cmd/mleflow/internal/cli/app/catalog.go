package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/pipelines"
)

// competitionsVariable lists folders of competitions as PATH lists programs'.
const competitionsVariable = "MLEFLOW_COMPETITIONS"

// Catalog returns the competitions that a command knows: those that ship, and
// those of the folders that the environment, the command line and the pipeline
// name.
func (l *Library) Catalog() (*competitions.Catalog, error) {
	shipped, err := competitions.Shipped()
	if err != nil {
		return nil, err
	}
	folders := append(l.OwnFolders(), l.Named...)
	if len(folders) == 0 {
		return shipped, nil
	}
	catalog, err := shipped.With(folders...)
	return catalog, Shown(err)
}

// Definition returns a competition by identifier.
func (l *Library) Definition(id string) (*competitions.Definition, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	def, err := catalog.Get(id)
	return def, Wrong(err)
}

// OwnFolders are the folders that the environment and the command line name.
func (l *Library) OwnFolders() []competitions.Folder {
	var folders []competitions.Folder
	for _, dir := range filepath.SplitList(l.Env(competitionsVariable)) {
		if dir != "" {
			folders = append(folders, competitions.Folder{Path: dir, From: competitionsVariable})
		}
	}
	for _, dir := range l.CompetitionDirs {
		folders = append(folders, competitions.Folder{Path: dir, From: "--competitions"})
	}
	return folders
}

// Shown makes what is wrong with definitions an error that is shown with the
// lines it is about.
func Shown(err error) error {
	if bad, ok := errors.AsType[*competitions.LoadError](err); ok {
		return &DiagError{List: bad.Diags, files: bad.Files}
	}
	return err
}

// UsePipeline notes a pipeline's folder and the competitions that it names. A file that cannot
// be read is told of when it is loaded.
func (l *Library) UsePipeline(path string) {
	l.folder = filepath.Dir(path)
	if src, err := config.ReadSource(path); err == nil {
		l.name(config.CompetitionFolders(path, src, nil, pipelines.Shipped))
	}
}

// UseRun notes the competitions that the pipeline of a past run names, as far
// as they are still where they were.
func (l *Library) UseRun(past *history.Past) error {
	sources, err := past.Sources()
	if err != nil {
		return err
	}
	path := past.Info.Pipeline
	for _, f := range config.CompetitionFolders(path, sources[filepath.Base(path)], sources, nil) {
		if _, err := os.Stat(f.Path); err == nil {
			l.name([]config.NamedFolder{f})
		}
	}
	return nil
}

func (l *Library) name(folders []config.NamedFolder) {
	for _, f := range folders {
		from := fmt.Sprintf("%s:%d", f.Range.Filename, f.Range.Start.Line)
		l.Named = append(l.Named, competitions.Folder{Path: f.Path, From: from})
	}
}
