package kit

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
)

//go:embed skeleton.hcl.tmpl
var skeletonText string

var skeleton = template.Must(template.New("competition.hcl").Parse(skeletonText))

var identifier = pattern.New(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// Skeletons returns the names of the skeletons. Besides, there are kaggle:SLUG and a
// folder; see Draft.
func Skeletons() []string { return []string{"tabular", "image", "text"} }

// kaggle begins the name of a Kaggle competition.
const kaggle = "kaggle:"

// KaggleSlug returns the name of a Kaggle competition from which one is made.
func KaggleSlug(from string) (slug string, ok bool) { return strings.CutPrefix(from, kaggle) }

// outline holds the values for the template of a skeleton.
type outline struct {
	ID, Category, Table string
	Images              bool
	// Slug is the name on Kaggle; empty for a skeleton with made-up data,
	// whose digests are MD5 and SHA256.
	Slug, MD5, SHA256 string
}

// CheckNames refuses an identifier or an origin that no competition can have.
func CheckNames(id, from string) error {
	_, err := newOutline(id, from)
	return err
}

func newOutline(id, from string) (outline, error) {
	o := outline{ID: id, Category: from + "-classification", Table: "data.csv"}
	slug, isKaggle := KaggleSlug(from)
	switch {
	case !identifier.Regexp().MatchString(id):
		return o, fmt.Errorf("new competition %q: a name contains only letters, digits and dashes, such as my-competition", id)
	case isKaggle && !identifier.Regexp().MatchString(slug):
		return o, fmt.Errorf("new competition from %s: the name must match the URL, such as kaggle:titanic", from)
	case isKaggle:
		o.Slug = slug
	case from == "image":
		o.Images, o.Table = true, "labels.csv"
	case from != "tabular" && from != "text":
		return o, fmt.Errorf("new competition from %q: %s kaggle:SLUG and a folder of CSV files are other ways", from, diag.Suggest(from, Skeletons()))
	}
	return o, nil
}

// New writes the skeleton of a competition to the new folder dir/id: a
// definition that loads, prepares and grades as it stands, and a small made-up
// data set to be replaced. A folder that exists is an error.
func New(dir, id, from string) error {
	o, err := newOutline(id, from)
	if err != nil {
		return err
	}
	return writeFolder(dir, id, func(folder string) ([]byte, error) {
		if err := o.writeExample(filepath.Join(folder, "data"), from); err != nil {
			return nil, err
		}
		var text bytes.Buffer
		err := skeleton.Execute(&text, o)
		return text.Bytes(), err
	})
}

// writeFolder makes the folder of a competition with the definition that write returns.
func writeFolder(dir, id string, write func(folder string) ([]byte, error)) (err error) {
	folder := filepath.Join(dir, id)
	if err := os.Mkdir(folder, 0o777); err != nil {
		return fmt.Errorf("new competition: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("new competition: %w", err), os.RemoveAll(folder))
		}
	}()
	text, err := write(folder)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, competitions.FileName), text, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, competitions.LockName), competitions.FormatLock(competitions.Lock{}), 0o666)
}

// examples are zip files of 60 made-up boxes, whose label is whether a box is wider than
// high: a table of numbers, one of texts, or pictures with a table of labels.
//
//go:embed examples/*.zip
var examples embed.FS

// writeExample writes the made-up data and notes its digests.
func (o *outline) writeExample(dir, from string) error {
	data, err := examples.ReadFile("examples/" + from + ".zip")
	if err != nil {
		return err
	}
	o.MD5, o.SHA256 = fmt.Sprintf("%x", md5.Sum(data)), fmt.Sprintf("%x", sha256.Sum256(data))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "example.zip"), data, 0o666)
}
