package transform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// csvOptions are the options of csv.
type csvOptions struct {
	Separator string            `verb:"separator"`
	Types     map[string]string `verb:"types"`
	Names     []string          `verb:"names"`
	Header    *bool             `verb:"header"`
	Floats    string            `verb:"floats"`
	Quotes    *bool             `verb:"quotes"`
	Missing   *bool             `verb:"missing"`
	Columns   []string          `verb:"columns"`
}

var csvVerb = Verb{
	Name: "csv", Params: []string{"path", "options"},
	Summary: "The table in a CSV file of the raw data.",
	Detail:  `Types are inferred as pandas does. Options: separator (","), types ({column = "text"|"int"|"float"|"bool"} instead), names (of columns), header (false: the first line is data), floats ("round_trip", or "fast" for pandas' default parser, off by some units in the last place), quotes (false: a quote is an ordinary character), missing (false: no string means missing), columns (those to keep, in that order).`,
	Source:  "pandas.read_csv (2.2)",
	Func:    readCSV,
}

var csvKinds = map[string]table.Kind{"text": table.Text, "int": table.Int64, "float": table.Float64, "bool": table.Bool}

func readCSV(in *Input, path string, o *csvOptions) (_ *table.Table, err error) {
	defer reading("csv", path, &err)
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	f, err := in.Raw.Open(path)
	if err != nil {
		return nil, err
	}
	if file := newRereadFile(f); file != nil {
		opts.File = file
		in.keepOpen(file)
	} else {
		defer f.Close()
	}
	t, err := table.ReadCSV(f, opts)
	if err == nil && o.Columns != nil {
		t, err = t.Select(o.Columns...)
	}
	return t, err
}

var csvFilesVerb = Verb{
	Name: "csv_files", Params: []string{"paths", "options"},
	Summary: "The rows of many CSV files of the raw data, file after file, with a first column path.",
	Detail:  "Types are inferred by file, and tables joined as by concat. Options are those of csv.",
	Source:  "pandas.concat([pandas.read_csv(path).assign(path=path) for path in paths])",
	Func:    readCSVFiles,
}

func readCSVFiles(in *Input, paths []string, o *csvOptions) (*table.Table, error) {
	tables := make([]*table.Table, len(paths))
	for i, path := range paths {
		if err := in.Context.Err(); err != nil {
			return nil, err
		}
		t, err := readCSV(in, path, o)
		if err != nil {
			return nil, err
		}
		column := constant("path", table.TextValue(path), t.Len())
		if tables[i], err = table.New(append([]*table.Column{column}, t.Columns()...)...); err != nil {
			return nil, fmt.Errorf("csv %s: %w", path, err)
		}
	}
	all, err := table.Concat(tables...)
	if err != nil {
		return nil, fmt.Errorf("csv_files: %w", err)
	}
	return all, nil
}

func (o *csvOptions) options() (table.ReadOptions, error) {
	opts := table.ReadOptions{RetainLines: true, Names: o.Names, NoHeader: isFalse(o.Header), NoQuotes: isFalse(o.Quotes), KeepNA: isFalse(o.Missing)}
	if o.Separator != "" {
		if len(o.Separator) != 1 {
			return opts, fmt.Errorf("separator %q is not one ASCII character", o.Separator)
		}
		opts.Comma = o.Separator[0]
	}
	switch o.Floats {
	case "", "round_trip":
	case "fast":
		opts.Floats = table.Fast
	default:
		return opts, fmt.Errorf("floats = %q: write \"round_trip\" or \"fast\"", o.Floats)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Types)) {
		kind, ok := csvKinds[o.Types[name]]
		if !ok {
			return opts, fmt.Errorf("type %q of column %q: write \"text\", \"int\", \"float\" or \"bool\"", o.Types[name], name)
		}
		if opts.Kinds == nil {
			opts.Kinds = map[string]table.Kind{}
		}
		opts.Kinds[name] = kind
	}
	return opts, nil
}

func isFalse(b *bool) bool { return b != nil && !*b }

// rereadFile reads a file again whose lines a table has not kept in memory. Its Close tells
// whether these were the lines that the table was made of.
type rereadFile struct {
	fs.File
	at  io.ReaderAt
	was fs.FileInfo

	mu  sync.Mutex
	err error // the first
}

// leastReread is the size of the smallest files that are read again. That takes a fifth
// more time, and small files may be too many to be open at once.
const leastReread = 256 << 20

// newRereadFile returns nil if the file is small, or cannot be read at any place.
func newRereadFile(f fs.File) *rereadFile {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil
	}
	was, err := f.Stat()
	if err != nil || was.Size() < leastReread {
		return nil
	}
	return &rereadFile{File: f, at: at, was: was}
}

// ReadAt implements io.ReaderAt.
func (a *rereadFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := a.at.ReadAt(p, off)
	if n < len(p) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.err == nil {
			a.err = fmt.Errorf("read %s again: %w", a.was.Name(), err)
		}
	}
	return n, err
}

// Close implements io.Closer.
func (a *rereadFile) Close() error {
	is, err := a.Stat()
	if err == nil && (is.Size() != a.was.Size() || !is.ModTime().Equal(a.was.ModTime())) {
		err = fmt.Errorf("%s has changed while it was read", a.was.Name())
	}
	return errors.Join(a.err, err, a.File.Close())
}
