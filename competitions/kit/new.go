package kit

import (
	"archive/zip"
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed skeleton.hcl.tmpl
var skeletonText string

var skeleton = template.Must(template.New("competition.hcl").Parse(skeletonText))

var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// New writes the skeleton of a competition to the new folder dir/id: a
// definition that loads, prepares and grades as it stands, and a small made-up
// data set to be replaced. A folder that exists is an error.
func New(dir, id string) (err error) {
	if !identifier.MatchString(id) {
		return fmt.Errorf("new competition %q: a name holds letters, digits and dashes only, such as my-competition", id)
	}
	folder := filepath.Join(dir, id)
	if err := os.Mkdir(folder, 0o777); err != nil {
		return fmt.Errorf("new competition: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("new competition: %w", err), os.RemoveAll(folder))
		}
	}()
	data, err := exampleData()
	if err != nil {
		return err
	}
	md5Sum, shaSum := md5.Sum(data), sha256.Sum256(data)
	var text bytes.Buffer
	values := map[string]string{"ID": id, "MD5": hex.EncodeToString(md5Sum[:]), "SHA256": hex.EncodeToString(shaSum[:])}
	if err := skeleton.Execute(&text, values); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "data", "example.zip"), data, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "competition.hcl"), text.Bytes(), 0o666)
}

// exampleData packs a table of 60 rows whose label follows from its columns.
func exampleData() ([]byte, error) {
	var rows strings.Builder
	rows.WriteString("id,width,height,label\n")
	for i := range 60 {
		width, height := i*7%11+1, i*5%13+1
		label := 0
		if width > height {
			label = 1
		}
		fmt.Fprintf(&rows, "%d,%d,%d,%d\n", i+1, width, height, label)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	w, err := z.Create("data.csv")
	if err == nil {
		_, err = w.Write([]byte(rows.String()))
	}
	err = errors.Join(err, z.Close())
	return buf.Bytes(), err
}
