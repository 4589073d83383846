package bundle

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// masker hides the machine's names and folders in texts that mleflow wrote.
type masker struct {
	folders *strings.Replacer
	host    *regexp.Regexp
}

// homes matches home folders, except those of an agent's container.
var homes = pattern.New(`(?:/home|/Users)/[^/\s"':,;\\]+`)

// agentHomes are the home folders that every agent sees.
var agentHomes = []string{"/home/agent", "/home/code", "/home/data", "/home/instructions.txt", "/home/logs", "/home/submission", "/home/validate_submission.sh"}

// Folders are the folders of this machine that bundles hide, by their names there.
func Folders(cacheDir string) map[string]string {
	home, _ := os.UserHomeDir() // none is hidden
	return map[string]string{"CACHE": cacheDir, "~": home, "TMP": os.TempDir()}
}

// Hides reports whether a bundle of a pipeline would not show a text as it is.
func Hides(text, pipeline, cacheDir string) bool {
	folders := Folders(cacheDir)
	folders["PIPELINE"] = filepath.Dir(pipeline)
	host, _ := os.Hostname()
	return newMasker(folders, host).text(text) != text
}

// newMasker hides folders, each by its name, and the host.
func newMasker(folders map[string]string, host string) *masker {
	type pair struct{ dir, name string }
	var pairs []pair
	for name, dir := range folders {
		if dir = filepath.Clean(dir); len(dir) < 2 || !filepath.IsAbs(dir) {
			continue
		}
		pairs = append(pairs, pair{dir, name})
		if quoted, err := json.Marshal(dir); err == nil && string(quoted[1:len(quoted)-1]) != dir {
			pairs = append(pairs, pair{string(quoted[1 : len(quoted)-1]), name})
		}
	}
	// The first match is taken, so longer ones come first.
	slices.SortFunc(pairs, func(a, b pair) int {
		if len(a.dir) != len(b.dir) {
			return len(b.dir) - len(a.dir)
		}
		return strings.Compare(a.dir+a.name, b.dir+b.name)
	})
	var list []string
	for _, p := range pairs {
		list = append(list, p.dir, p.name)
	}
	m := &masker{folders: strings.NewReplacer(list...)}
	// Shorter names may be ordinary words.
	if len(host) >= 4 && host != "localhost" {
		m.host = regexp.MustCompile(`\b` + regexp.QuoteMeta(host) + `\b`)
	}
	return m
}

func (m *masker) text(s string) string {
	s = m.folders.Replace(s)
	s = homes.Regexp().ReplaceAllStringFunc(s, func(dir string) string {
		if slices.Contains(agentHomes, dir) {
			return dir
		}
		return "~"
	})
	if m.host != nil {
		s = m.host.ReplaceAllString(s, "HOST")
	}
	return s
}

func (m *masker) bytes(b []byte) []byte { return []byte(m.text(string(b))) }

// argument masks an argument of the command line. The last element of a path stays.
func (m *masker) argument(s string) string {
	flag, value, assigned := strings.Cut(s, "=")
	if assigned && !strings.Contains(flag, "/") && filepath.IsAbs(value) {
		return flag + "=" + path.Base(filepath.ToSlash(value))
	}
	if filepath.IsAbs(s) {
		return path.Base(filepath.ToSlash(s))
	}
	return m.text(s)
}
