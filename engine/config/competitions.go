package config

import (
	"fmt"
	"iter"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
)

// NamedFolder is a folder that a pipeline names.
type NamedFolder struct {
	// Path is where it is, from where the pipeline's own path is.
	Path  string
	Range hcl.Range
}

// CompetitionFolders returns the folders of competitions that the settings of
// a pipeline name. They are read first, since what a pipeline may say depends
// on the competitions there are. What is wrong with them Parse reports. The
// files are those that a past run recorded; nil reads the pipeline's folder.
func CompetitionFolders(path string, src []byte, files map[string][]byte) []NamedFolder {
	var folders []NamedFolder
	for a := range settingsOf(path, src, files, "competitions") {
		found, _ := competitionFolders(path, a)
		folders = append(folders, found...)
	}
	return folders
}

// RemoteCache returns the address of the remote cache that the settings of a
// pipeline name, or "", for those who need nothing else of it. The files are
// those that a past run recorded; nil reads the pipeline's folder.
func RemoteCache(path string, src []byte, files map[string][]byte) (address string) {
	for a := range settingsOf(path, src, files, "remote_cache") {
		if text, diags := literalString(a); !diags.HasErrors() && text != "" {
			address = text
		}
	}
	return address
}

// settingsOf yields one argument of the mleflow blocks of a pipeline, those of
// the files that it extends first.
func settingsOf(path string, src []byte, files map[string][]byte, name string) iter.Seq[*hcl.Attribute] {
	return func(yield func(*hcl.Attribute) bool) {
		from := local.Folder(folderOf(path), nil)
		if files != nil {
			var err error
			if from, err = recorded(path, files); err != nil {
				return
			}
		}
		list, diags := texts(path, src, from)
		if diags.HasErrors() {
			return
		}
		for _, t := range list {
			content, _, _ := t.file.Body.PartialContent(fileSchema)
			for _, b := range content.Blocks.OfType("mleflow") {
				settings, _, _ := b.Body.PartialContent(settingsSchema)
				if a := settings.Attributes[name]; a != nil && !yield(a) {
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
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		return nil, diags
	}
	v, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || v.IsNull() {
		return nil, diag.List{diag.Error(a.Expr.Range(), "List of folders expected", "Write for example competitions = [\"./competitions\"].")}
	}
	var folders []NamedFolder
	for i, item := range v.AsValueSlice() {
		if item.IsNull() || item.AsString() == "" {
			return nil, diag.List{diag.Error(a.Expr.Range(), "List of folders expected", "%s", fmt.Sprintf("Element %d is empty.", i+1))}
		}
		dir := filepath.FromSlash(item.AsString())
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(path), dir)
		}
		folders = append(folders, NamedFolder{dir, a.Expr.Range()})
	}
	return folders, nil
}
