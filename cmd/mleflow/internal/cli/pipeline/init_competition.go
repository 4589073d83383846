package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions"
)

// rawVariable says where the data of competitions are that are not to be
// downloaded.
const rawVariable = `# -var raw=DIR takes the data from DIR/<id>, the unpacked download, or DIR/<id>.zip;
# null downloads them.
variable "raw" {
  type    = string
  default = null
}

`

// withCompetitions puts competitions in the place of the one that a first
// pipeline runs, with the folders of those that do not ship with the program.
func withCompetitions(l *app.Library, text []byte, file string, ids []string) ([]byte, error) {
	if _, err := os.Stat(app.OwnCompetitions); err == nil && len(l.OwnFolders()) == 0 {
		l.CompetitionDirs = []string{app.OwnCompetitions}
	}
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	var list, folders []string
	for _, id := range ids {
		def, err := catalog.Get(id)
		if err != nil {
			return nil, app.Wrong(err)
		}
		list = append(list, quoteHCL(id))
		folder, err := folderOf(l, def, file)
		if err != nil {
			return nil, err
		}
		if folder = quoteHCL(folder); folder != `""` && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	const raw = `  competition = each.key
}

step "prepare"`
	changes := []string{raw, strings.Replace(raw, "\n}", "\n  from        = var.raw == null ? null : \"${var.raw}/${each.key}\"\n}", 1), "locals {", rawVariable + "locals {",
		`["demo-digits"]`, "[" + strings.Join(list, ", ") + "]"}
	if len(folders) > 0 {
		const version = `required_version = ">= 0.1"`
		changes = append(changes, version, version+"\n  competitions     = ["+strings.Join(folders, ", ")+"]")
	}
	return []byte(strings.NewReplacer(changes...).Replace(string(text))), nil
}

// folderOf returns the folder that a definition comes from as the pipeline at
// file names it: relative to its own; "" if it ships with the program.
func folderOf(l *app.Library, def *competitions.Definition, file string) (string, error) {
	home := filepath.Dir(absolute(def.FilePath()))
	for _, f := range l.OwnFolders() {
		if at := absolute(f.Path); at != home && at != filepath.Dir(home) {
			continue
		}
		name, err := filepath.Rel(absolute(filepath.Dir(file)), absolute(f.Path))
		if err != nil {
			return "", err
		}
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, "../") {
			name = "./" + name
		}
		return name, nil
	}
	return "", nil
}

// absolute is path from the root on, or path itself where there is no working
// folder.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
