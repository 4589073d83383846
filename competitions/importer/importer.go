package importer

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions"
)

// Formats are the forms of folders.
var Formats = []string{"mlebench", "mledojo"}

// Options say what is made of a folder.
type Options struct {
	// Format is one of Formats; "" is that of the folder's files.
	Format string
	// Into is the folder of competitions in which a new folder is made.
	Into string
	// ID is the identifier; "" is the folder's own.
	ID string
	// Requirements is a file of packages instead of those that the code imports.
	Requirements string
	// Better is "higher" or "lower", for a folder without a leaderboard.
	Better string
	// Complexity is the rating of the definition.
	Complexity string
}

// Result is what was made.
type Result struct {
	Competition string `json:"competition"`
	Path        string `json:"path"`
	Teams       int    `json:"teams"`
	Pins        int    `json:"pins"`
	// Packages are the requirements.
	Packages []string `json:"packages"`
	// Unknown are modules that the code imports and of which no package is known.
	Unknown []string `json:"unknown_modules"`
	// Notes say what else a person must know.
	Notes []string `json:"notes"`
}

// draft is a competition on its way from a source to a folder.
type draft struct {
	id, title, metric, kind string
	answers, sample, gold   string
	slug                    string
	python                  competitions.Python
	code                    map[string][]byte
	description             []byte
	scores                  []string
	lock                    *competitions.Lock
	packages                []byte // requirements that were given
	notes                   []string
}

// Import makes a competition of a folder. Mistakes in the folder are a
// *competitions.LoadError with all of them. The new folder is there whole or not at all.
func Import(dir string, o Options) (Result, error) {
	s, err := newSource(dir)
	if err != nil {
		return Result{}, err
	}
	read := map[string]func(*source, Options) draft{"mlebench": mleBench, "mledojo": mleDojo}[cmp.Or(o.Format, s.format())]
	if read == nil {
		return Result{}, fmt.Errorf("the format %q is none of %v", o.Format, Formats)
	}
	d := read(s, o)
	d.requirements(s, o)
	if s.diags.HasErrors() {
		return Result{}, &competitions.LoadError{Diags: s.diags, Files: s.files}
	}
	return d.write(o)
}

func (s *source) format() string {
	if !s.has("config.yaml") && s.has("utils/metric.py") {
		return "mledojo"
	}
	return "mlebench"
}

// mleBench reads a folder of MLE-bench: config.yaml, the code, leaderboard.csv,
// description.md and checksums.yaml.
func mleBench(s *source, o Options) (d draft) {
	config, ok := s.parse("config.yaml")
	if !ok {
		return d
	}
	id, at := s.text(config, true, "id")
	d.id = s.identifier(id, o.ID, at)
	d.slug = id
	d.title, _ = s.text(config, true, "name")
	d.metric, _ = s.text(config, false, "grader", "name")
	d.kind, _ = s.text(config, false, "competition_type")
	d.answers = s.prepared(config, id, true, "dataset", "answers")
	d.sample = s.prepared(config, id, true, "dataset", "sample_submission")
	d.gold = s.prepared(config, id, false, "dataset", "gold_submission")
	d.code = s.code("")
	prepare, prepareAt := s.text(config, true, "preparer")
	grade, gradeAt := s.text(config, true, "grader", "grade_fn")
	d.python.Package, d.python.Prepare = s.function(d.code, prepare, prepareAt, "mlebench.competitions."+d.id)
	var other string
	if other, d.python.Grade = s.function(d.code, grade, gradeAt, "mlebench.competitions."+d.id); other != d.python.Package && !s.diags.HasErrors() {
		s.fail(gradeAt, "Two packages", "preparer is in the package %s and grade_fn in %s; both must be in the folder of the competition.", d.python.Package, other)
	}
	d.description, _ = s.read("description.md", maxYAML)
	d.board(s, "leaderboard.csv", o)
	d.checksums(s)
	return d
}

// identifier returns the competition's identifier: given, or id.
func (s *source) identifier(id, given string, at hcl.Range) string {
	if id = cmp.Or(given, id); !competitions.ValidID(id) {
		s.fail(at, "Not an identifier", "%.60q cannot be the name of a folder: an identifier contains only letters, digits, dashes and underscores. Choose another with --id NAME.", id)
	}
	return id
}

// prepared returns the path below the prepared folder of ID/prepared/PATH.
func (s *source) prepared(config document, id string, needed bool, keys ...string) string {
	text, at := s.text(config, needed, keys...)
	below, ok := strings.CutPrefix(text, id+"/prepared/")
	half, _, _ := strings.Cut(below, "/")
	if text != "" && (!ok || path.Clean(below) != below || half != "public" && half != "private" || half == below) {
		s.fail(at, "Not a prepared path", "%q must be a path such as %s/prepared/private/test.csv.", text, id)
	}
	return below
}

var functionForm = pattern.New(`^([A-Za-z0-9_.-]+):([A-Za-z_][A-Za-z0-9_]*)$`)

// function splits package.module:function by the files of the folder.
func (s *source) function(code map[string][]byte, text string, at hcl.Range, otherwise string) (pkg, function string) {
	m := functionForm.Regexp().FindStringSubmatch(text)
	if m == nil {
		s.fail(at, "Not a function", "Write module and function, such as %s.grade:grade.", otherwise)
		return "", ""
	}
	parts := strings.Split(m[1], ".")
	for i := range parts {
		module := strings.Join(parts[i:], "/") + ".py"
		source, ok := code[module]
		if !ok {
			continue
		}
		if !competitions.Defines(source, m[2]) {
			s.fail(at, "No such function", "%s defines no function %s. Name one that it defines, or add it.", filepath.Join(s.dir, module), m[2])
		}
		return cmp.Or(strings.Join(parts[:i], "."), otherwise), strings.Join(parts[i:], ".") + ":" + m[2]
	}
	s.fail(at, "No such module", "The folder has no file %s.py, and code elsewhere is not imported. Add the file, or name one of the folder.", parts[len(parts)-1])
	return "", ""
}

// board reads the scores of a leaderboard in rank order.
func (d *draft) board(s *source, name string, o Options) {
	if !s.has(name) {
		if d.python.Better = o.Better; o.Better == "" {
			s.fail(hcl.Range{Filename: filepath.Join(s.dir, name)}, "No leaderboard", "Add %s, or say with --better higher or --better lower which scores are better; there are no medals then.", name)
		}
		return
	}
	text, ok := s.read(name, maxFile)
	at := hcl.Range{Filename: filepath.Join(s.dir, name), Start: hcl.Pos{Line: 1, Column: 1}, End: hcl.Pos{Line: 1, Column: 1}}
	switch {
	case !ok:
		return
	case isPointer(text) && o.Better != "":
		d.python.Better = o.Better
		d.notes = append(d.notes, name+" is a pointer of Git LFS; there is no leaderboard, and no medals")
		return
	case isPointer(text):
		s.fail(at, "No leaderboard", "The file is a pointer of Git LFS. Run git lfs pull in its repository, or say with --better higher or --better lower which scores are better; there are no medals then.")
		return
	}
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))).ReadAll()
	column := -1
	if err == nil && len(rows) > 0 {
		column = slices.IndexFunc(rows[0], func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), "score") })
	}
	if err != nil || column < 0 {
		s.fail(at, "Cannot read leaderboard", "It needs a column score.%s", after(" ", err))
		return
	}
	left := 0
	for i, row := range rows[1:] {
		score, err := strconv.ParseFloat(strings.TrimSpace(row[column]), 64)
		switch {
		case strings.TrimSpace(row[column]) == "":
			left++
		case err != nil || math.IsNaN(score) || math.IsInf(score, 0):
			at.Start.Line, at.End.Line = i+2, i+2
			s.fail(at, "Cannot read leaderboard", "%.40q is not a score.", row[column])
			return
		default:
			d.scores = append(d.scores, strconv.FormatFloat(score, 'g', -1, 64))
		}
	}
	if left > 0 {
		d.notes = append(d.notes, fmt.Sprintf("teams of %s without a score, which are left out: %d", name, left))
	}
}

func after(space string, err error) string {
	if err == nil {
		return ""
	}
	return space + err.Error() + "."
}

var md5Form = pattern.New(`^[0-9a-f]{32}$`)

// checksums reads the MD5 of the download and of prepared files.
func (d *draft) checksums(s *source) {
	if !s.has("checksums.yaml") {
		d.notes = append(d.notes, "there is no checksums.yaml: prepare the full data, then mleflow competition lock "+d.id)
		return
	}
	doc, ok := s.parse("checksums.yaml")
	if !ok {
		return
	}
	d.lock = &competitions.Lock{Prepared: map[string]competitions.Checksums{}}
	sum := func(of document, keys ...string) string {
		text, at := s.text(of, false, keys...)
		if text != "" && !md5Form.Regexp().MatchString(text) {
			s.fail(at, "Malformed MD5", "Write 32 lower-case hexadecimal digits.")
		}
		return text
	}
	d.lock.Download = sum(doc, "zip")
	halves := map[string]map[string]string{"public": {}, "private": {}}
	for half, pins := range halves {
		n := doc.find(half)
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if path.Clean(name) != name || !filepath.IsLocal(name) {
				s.fail(doc.at(n.Content[i]), "Not a prepared path", "Write a path below %s.", half)
				continue
			}
			pins[name] = sum(doc, half, name)
		}
	}
	d.lock.Prepared["v1"] = competitions.Checksums{Public: halves["public"], Private: halves["private"]}
}

// requirements sets the packages: a given file, or what the code imports.
func (d *draft) requirements(s *source, o Options) {
	d.python.Requirements, d.python.Folder = "requirements.txt", "python"
	if o.Requirements == "" {
		return
	}
	f, err := os.Open(o.Requirements)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, maxYAML)); err == nil {
			d.packages = text
		}
	}
	if err != nil {
		s.fail(hcl.Range{Filename: o.Requirements}, "Cannot read requirements", "%v.", err)
	}
}

// write makes the folder.
func (d draft) write(o Options) (Result, error) {
	result := Result{Competition: d.id, Path: filepath.Join(o.Into, d.id), Teams: len(d.scores), Notes: append([]string{}, d.notes...), Unknown: []string{}}
	text, unknown := requirements(d.code)
	if d.packages != nil {
		text, unknown = string(d.packages), nil
	}
	result.Unknown = append(result.Unknown, unknown...)
	result.Packages = strings.Fields(text)
	files := map[string][]byte{competitions.FileName: d.definition(o), "description.md": d.description, "requirements.txt": []byte(text)}
	for name, data := range d.code {
		files[path.Join("python", name)] = data
	}
	if len(d.scores) > 0 {
		files["leaderboard.txt"] = []byte(strings.Join(d.scores, "\n") + "\n")
	}
	if d.lock != nil {
		files[competitions.LockName] = competitions.FormatLock(*d.lock)
		pins := d.lock.Prepared["v1"]
		result.Pins = len(pins.Public) + len(pins.Private)
	}
	if _, err := os.Lstat(result.Path); err == nil {
		return result, fmt.Errorf("there is already %s; remove it, or choose another identifier with --id NAME", result.Path)
	}
	return result, publish(result.Path, files)
}

// publish writes files to a new folder, and makes sure that they are a competition.
func publish(to string, files map[string][]byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	above, err := os.MkdirTemp(filepath.Dir(to), ".import-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(above)) }()
	dir := filepath.Join(above, filepath.Base(to))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.WriteFile(at, files[name], 0o666)); err != nil { //nolint:gosec // for all, less the umask
			return err
		}
	}
	if _, err := competitions.LoadFolder(competitions.Folder{Path: dir}); err != nil {
		return err
	}
	return os.Rename(dir, to)
}
