package kit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// mostPacked is the size up to which files are packed into a competition's folder, and
// mostDraft the memory of a table that a draft is made of.
// leastRows is the number of rows below which a split leaves no test part.
const (
	leastRows  = 10
	mostPacked = 64 << 20
	mostDraft  = 8 << 30
)

// rawFiles are the files of a folder: their names, and the tables of which a draft is made.
type rawFiles struct {
	dir                 string
	names               []string // CSV files
	other               int      // files that are none
	size                int64
	train, test, sample *table.Table
	testName, sampleOf  string
}

// readFiles finds the CSV files of the folder and reads those that decide.
func (d *draft) readFiles() error {
	f := &d.files
	f.dir = d.o.Files
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular() || strings.ToLower(filepath.Ext(e.Name())) != ".csv":
			f.other++
		default:
			f.names, f.size = append(f.names, e.Name()), f.size+info.Size()
		}
	}
	train, err := f.trainName()
	if err != nil {
		return err
	}
	d.Train, f.testName, f.sampleOf = train, f.named("test"), f.named("sample_submission", "samplesubmission", "sample-submission", "sample")
	for _, part := range []struct {
		name string
		into **table.Table
	}{{d.Train, &f.train}, {f.testName, &f.test}, {f.sampleOf, &f.sample}} {
		if part.name == "" {
			continue
		}
		if *part.into, err = table.ReadCSVFile(filepath.Join(f.dir, part.name), table.ReadOptions{Memory: mostDraft}); err != nil {
			return err
		}
	}
	if f.train.Len() < leastRows || len(f.train.Columns()) < 2 {
		return fmt.Errorf("%s has %d rows and %d columns, too few to split", d.Train, f.train.Len(), len(f.train.Columns()))
	}
	for _, name := range f.names {
		if name != d.Train && name != f.testName && name != f.sampleOf {
			d.ask("public", "may agents see %s? Then write here: copy %s {}", name, quoted(name))
		}
	}
	if f.other > 0 {
		d.ask("public", "%d entries of the folder are no CSV files. Do agents need them?", f.other)
	}
	return nil
}

// named returns the file of one of the names, whatever their case; "" if there is none.
func (f *rawFiles) named(stems ...string) string {
	for _, stem := range stems {
		for _, name := range f.names {
			if strings.EqualFold(strings.TrimSuffix(name, filepath.Ext(name)), stem) {
				return name
			}
		}
	}
	return ""
}

// trainName returns the file with the answers.
func (f *rawFiles) trainName() (string, error) {
	name := f.named("train", "training")
	switch {
	case name != "":
		return name, nil
	case len(f.names) == 1:
		return f.names[0], nil
	case len(f.names) == 0:
		return "", fmt.Errorf("there is no CSV file in %s", f.dir)
	}
	return "", fmt.Errorf("which file has the answers? %s has %s; name it train.csv", f.dir, someOf(f.names))
}

// someOf lists names, of many the first.
func someOf(names []string) string {
	more := ""
	if n := len(names) - 20; n > 0 {
		names, more = names[:20], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(lists.Of(names, func(s string) string { return fmt.Sprintf("%.60q", s) }), ", ") + more
}

// packFiles puts the files into the competition's folder; large ones stay where they are.
func (d *draft) packFiles(folder string) (err error) {
	if d.Slug != "" || d.files.size > mostPacked {
		return nil
	}
	dir := filepath.Join(folder, "data")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, "raw.zip"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	pack, err := archive.NewPacker(io.MultiWriter(out, sum), archive.Zip, archive.PackOptions{})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(d.files.names)) {
		data, err := os.ReadFile(filepath.Join(d.files.dir, name))
		if err != nil {
			return err
		}
		w, err := pack.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := pack.Close(); err != nil {
		return err
	}
	d.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	return nil
}

// FilesPath is the folder that a definition names where files are not packed.
func (d *draft) FilesPath() string {
	path, err := filepath.Abs(d.files.dir)
	if err != nil {
		return d.files.dir
	}
	return path
}
