package config

import (
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
)

// NamedFolder is a folder that a pipeline names.
type NamedFolder struct {
	// Path is its path, relative to the same folder as the pipeline's own path.
	Path  string
	Range hcl.Range
}

// CompetitionFolders returns the folders of competitions that the settings of a
// pipeline name. They are read first, because the valid content of a pipeline
// depends on the known competitions. Parse reports errors in them. The files
// are those that a past run recorded; nil reads the pipeline's folder and the
// shipped files.
func CompetitionFolders(path string, src []byte, files map[string][]byte, shipped fs.FS) []NamedFolder {
	var folders []NamedFolder
	for a := range settingsOf(path, src, files, shipped, "competitions") {
		found, _ := competitionFolders(path, a)
		folders = append(folders, found...)
	}
	return folders
}

// RemoteCache returns the URL of the remote cache that the settings of a
// pipeline name, or "". It is for callers that need nothing else of the
// pipeline. The files are those that a past run recorded; nil reads the
// pipeline's folder.
func RemoteCache(path string, src []byte, files map[string][]byte) (address string) {
	for a := range settingsOf(path, src, files, nil, "remote_cache") {
		if text, diags := literalString(a); !diags.HasErrors() && text != "" {
			address = text
		}
	}
	return address
}

// settingsOf yields one argument of the mleflow blocks of a pipeline, starting
// with the files that it extends.
func settingsOf(path string, src []byte, files map[string][]byte, shipped fs.FS, name string) iter.Seq[*hcl.Attribute] {
	return func(yield func(*hcl.Attribute) bool) {
		from := local.Folder(folderOf(path), nil, local.NewDigests(""))
		from.Ship(shipped)
		if files != nil {
			var err error
			if from, err = recorded(path, files); err != nil {
				return
			}
		}
		list, diags := reader{from, &bounded.Budget{}, name}.texts(path, src)
		if diags.HasErrors() {
			return
		}
		for _, t := range list {
			for a := range settings(t.file.Body, name) {
				if !yield(a) {
					return
				}
			}
		}
	}
}

func competitionFolders(path string, a *hcl.Attribute) ([]NamedFolder, diag.List) {
	if a == nil {
		return nil, nil
	}
	list, diags := stringList(a, `Write, for example, competitions = ["./competitions"].`)
	if diags.HasErrors() {
		return nil, diags
	}
	var folders []NamedFolder
	for _, item := range list {
		dir := filepath.FromSlash(item)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(path), dir)
		}
		folders = append(folders, NamedFolder{dir, a.Expr.Range()})
	}
	return folders, nil
}
