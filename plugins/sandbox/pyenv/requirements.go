package pyenv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// List is the content of a file of requirements or of a lock, as far as it is accepted.
// Installers get a List as mleflow writes it, and never the file itself: they give
// options, other files and variables in it a meaning.
type List struct {
	// Indexes are the options that name indexes, such as "--index-url https://…".
	Indexes  []string
	Packages []Package
}

// Package is one requirement. All strings but Name may be empty.
type Package struct {
	Name string
	// Extras are written "[a,b]", Specifier ">=1.0,<2", and Marker as in the file.
	Extras, Specifier, Marker string
	// Hashes are written "sha256:…". Any of them will do.
	Hashes []string
	// Wheel is the path of a wheel beside the requirements, which names the package.
	Wheel string
}

// String returns the list as a file of requirements, in the form in which uv writes
// locks.
func (l List) String() string {
	var b strings.Builder
	for _, line := range l.Indexes {
		b.WriteString(line + "\n")
	}
	if len(l.Indexes) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range l.Packages {
		b.WriteString(p.Name + p.Extras + p.Specifier)
		if p.Marker != "" {
			b.WriteString(" ; " + p.Marker)
		}
		for _, sum := range p.Hashes {
			b.WriteString(" \\\n    --hash=" + sum)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Version returns the version to which the package is pinned, or "".
func (p Package) Version() string {
	if version, ok := strings.CutPrefix(p.Specifier, "=="); ok && !strings.ContainsAny(version, "=,*") {
		return version
	}
	return ""
}

// Key returns the name by which indexes know the package.
func (p Package) Key() string {
	return strings.ToLower(separators.Regexp().ReplaceAllString(p.Name, "-"))
}

// Wheels returns the paths of the wheels beside the requirements, in their order.
func (l List) Wheels() (paths []string) {
	for _, p := range l.Packages {
		if p.Wheel != "" {
			paths = append(paths, p.Wheel)
		}
	}
	return paths
}

// WheelsOf returns the wheels that a file of requirements names, or none if it is
// refused.
func WheelsOf(name, text string) []string {
	list, err := Parse(name, text)
	if err != nil {
		return nil
	}
	return list.Wheels()
}

// separators matches what normal names have a hyphen for.
var separators = pattern.New(`[-_.]+`)

// byKey returns the packages by their normal names.
func (l List) byKey() map[string]Package {
	all := map[string]Package{}
	for _, p := range l.Packages {
		all[p.Key()] = p
	}
	return all
}

// Parse reads a file of requirements by the grammar of pip, or the dependencies of a
// pyproject.toml. The error names each line that is refused, with the reason.
func Parse(name, text string) (List, error) {
	name = filepath.Base(name)
	text, err := decode(text)
	switch {
	case err != nil:
		return List{}, fmt.Errorf("%s %w", name, err)
	case credentials.Regexp().MatchString(text):
		return List{}, fmt.Errorf("%s holds an address with a user or password, or of a Git repository. Passwords belong into the variable UV_INDEX or a netrc file, which are not stored; repositories have no wheels", name)
	case name == projectFile || isProject.Regexp().MatchString(text):
		return parseProject(name, text)
	}
	var list List
	var all []error
	for number, line := range logicalLines(text) {
		if err := list.add(line); err != nil {
			all = append(all, fmt.Errorf("%s, line %d: %w", name, number, err))
		}
		if len(all) == maxErrors {
			break
		}
	}
	return list, errors.Join(all...)
}

// maxText limits a file of requirements, in bytes.
const maxText = 4 << 20

// maxErrors limits the lines that an error names.
const maxErrors = 20

// decode returns a text as UTF-8. Like pip, it follows a byte order mark.
func decode(text string) (string, error) {
	order := map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian}[text[:min(2, len(text))]]
	if order != nil {
		var units []uint16
		for b := []byte(text[2:]); len(b) > 1; b = b[2:] {
			units = append(units, order.Uint16(b))
		}
		text = string(utf16.Decode(units))
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if len(text) > maxText {
		return "", fmt.Errorf("has more than %d MiB", maxText>>20)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errors.New("is not UTF-8: save it in this encoding")
	}
	return text, nil
}

// lineEnds are what Python, and so pip, reads as the end of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// comment matches a comment. It needs a space before it.
var comment = pattern.New(`(^|\s+)#.*$`)

// logicalLines returns the lines that are not empty, by the number at which each
// begins, without comments. A backslash continues a line; a comment ends it.
func logicalLines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var held strings.Builder
		began := 0
		give := func() bool {
			line := strings.TrimSpace(comment.Regexp().ReplaceAllString(held.String(), ""))
			held.Reset()
			return line == "" || yield(began, line)
		}
		for i, line := range strings.Split(lineEnds.Replace(text), "\n") {
			if held.Len() == 0 {
				began = i + 1
			}
			if at := comment.Regexp().FindStringIndex(line); at != nil && at[0] == 0 {
				line = " " + line
			} else if strings.HasSuffix(line, `\`) {
				held.WriteString(strings.Trim(line, `\`))
				continue
			}
			held.WriteString(line)
			if !give() {
				return
			}
		}
		give()
	}
}

// The parts of a requirement. The markers' words are those of the specification.
const (
	nameForm      = `[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`
	specifierForm = `(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9][A-Za-z0-9._+!*-]*`
	markerForm    = `'[^'"\\]*'|"[^'"\\]*"|===|==|~=|!=|<=|>=|<|>|[()]|(?:and|or|not|in|extra|python_version|python_full_version|os_name|os\.name|sys_platform|sys\.platform|platform_machine|platform\.machine|platform_release|platform_system|platform_version|platform\.version|platform_python_implementation|platform\.python_implementation|python_implementation|implementation_name|implementation_version)\b`
	hashForm      = `sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}`
)

var (
	requirement = pattern.New(`^(` + nameForm + `)\s*(\[\s*(?:` + nameForm + `(?:\s*,\s*` + nameForm + `)*)?\s*\])?\s*(` + specifierForm + `(?:\s*,\s*` + specifierForm + `)*|\(\s*` + specifierForm + `(?:\s*,\s*` + specifierForm + `)*\s*\))?\s*(?:;\s*((?:(?:` + markerForm + `)\s*)+))?$`)
	hashOptions = pattern.New(`^(?:\s+--hash(?:=|\s+)(?:` + hashForm + `))*$`)
	hash        = pattern.New(hashForm)
	wheelPath   = pattern.New(`^(?:\./)*((?:[A-Za-z0-9_+-][A-Za-z0-9._+-]*/)*([A-Za-z0-9][A-Za-z0-9._]*)-([0-9][A-Za-z0-9.+!_]*)(?:-[0-9][A-Za-z0-9_]*)?(?:-[A-Za-z0-9._]+){3}\.whl)$`)
	spaces      = pattern.New(`\s+`)
	indexOption = pattern.New(`^(?:-i|--(extra-)?index-url)(?:=|\s+)(\S+)$`)
	indexForm   = pattern.New(`^https?://(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*(?::[0-9]{1,5})?(?:/(?:[A-Za-z0-9._~+-]|%[0-9A-Fa-f]{2})*)*$`)
	elsewhere   = pattern.New(`(?i)^[./~\\]|^[a-z0-9]*:|\.(?:whl|zip|gz|bz2|xz|lzma|tar|tgz|tbz|txz|tlz|zst)(?:$|[^a-z0-9._-])|@`)
	// agreed are options that say what happens anyway.
	agreed = pattern.New(`^(?:--only-binary(?:=|\s+):all:|--prefer-binary|--require-hashes)$`)
)

// refusals are the reasons for which options are refused.
var refusals = []struct {
	option *pattern.Pattern
	reason string
}{
	{pattern.New(`^-r|^--requirement|^-c|^--constraint`), "it refers to another file, which is not an input: put all requirements into one file, by names of packages"},
	{pattern.New(`^-e|^--editable`), "it installs from sources, whose build would run their code here: name a package that has wheels, or install it in an image"},
	{pattern.New(`^-f|^--find-links|^--no-index`), "it takes packages from a folder or page, which others do not have: name an index, --index-url, or for wheels of this machine only set the variable UV_FIND_LINKS"},
	{pattern.New(`^--no-binary|^--only-binary`), "only wheels are installed, since a build would run code here: remove the line, or install the package in an image"},
	{pattern.New(``), "this option is not supported: remove the line. Only --index-url and --extra-index-url are and, after a package, --hash"},
}

// add adds a line of a file of requirements.
func (l *List) add(line string) error {
	if strings.HasPrefix(line, "-") {
		return l.addOption(line)
	}
	p, err := parsePackage(line)
	if err == nil {
		l.Packages = append(l.Packages, p)
	}
	return err
}

func (l *List) addOption(line string) error {
	if agreed.Regexp().MatchString(line) {
		return nil
	}
	if m := indexOption.Regexp().FindStringSubmatch(line); m != nil {
		if !indexForm.Regexp().MatchString(m[2]) {
			return errors.New("an index must be an address such as https://index.example/simple: of a host by its name, without variables, user and query")
		}
		l.Indexes = append(l.Indexes, "--"+m[1]+"index-url "+m[2])
		return nil
	}
	for _, r := range refusals {
		if r.option.Regexp().MatchString(line) {
			return fmt.Errorf("%s: %s", shown(line), r.reason)
		}
	}
	return nil
}

// parsePackage parses a requirement: name, extras, specifier, marker and hashes.
func parsePackage(line string) (p Package, err error) {
	options := ""
	if at := optionsAt.Regexp().FindStringIndex(line); at != nil {
		line, options = line[:at[0]], line[at[0]:]
	}
	m := requirement.Regexp().FindStringSubmatch(line)
	if w := wheelPath.Regexp().FindStringSubmatch(line); w != nil {
		p.Wheel, m = w[1], []string{"", w[2], "", "==" + w[3], ""}
	}
	switch {
	case strings.Contains(line, "$"):
		return p, fmt.Errorf("%s: variables are not replaced: write out what is meant", shown(line))
	case p.Wheel == "" && elsewhere.Regexp().MatchString(strings.SplitN(line, ";", 2)[0]):
		return p, fmt.Errorf("%s: it refers to another file, folder or address: name the package, and its index by --index-url, or a wheel in this folder or below, such as ./wheels/tool-1.0-py3-none-any.whl", shown(line))
	case m == nil:
		return p, fmt.Errorf("%s: it is not a requirement such as numpy or scikit-learn[alldeps]>=1.5,<2 ; python_version < \"3.13\"", shown(line))
	case !hashOptions.Regexp().MatchString(options):
		return p, fmt.Errorf("%s: after a package only --hash=sha256:… (or sha384, sha512) is supported: remove the rest", shown(strings.TrimSpace(options)))
	}
	none := strings.NewReplacer(" ", "", "\t", "", "(", "", ")", "")
	return Package{
		Wheel: p.Wheel, Name: m[1], Extras: strings.TrimSuffix(none.Replace(m[2]), "[]"), Specifier: none.Replace(m[3]),
		Marker: strings.TrimSpace(spaces.Regexp().ReplaceAllString(m[4], " ")), Hashes: hash.Regexp().FindAllString(options, -1),
	}, nil
}

// optionsAt matches where the options of a requirement begin.
var optionsAt = pattern.New(`\s-`)

// shown returns the beginning of a line for an error.
func shown(line string) string { return fmt.Sprintf("%.60q", line) }
