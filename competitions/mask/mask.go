package mask

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// Version changes whenever the same files and salt may give other bytes than
// before; the engine's keys hold it.
const Version = "1"

// Options give the data to mask and the destination.
type Options struct {
	// Public and Private are the prepared files.
	Public, Private fs.FS
	// Out gets the masked ones.
	Out  prep.Sink
	Salt Salt
	// Work is a folder for unpacked archives and for tables that do not fit in
	// memory; empty means a new folder of the system's temporary one.
	Work string
	// Progress, if set, counts the files and bytes that are read, first for their ids
	// and then to be written with others.
	Progress *progress.Work
}

// Run masks the prepared files of a definition. It must be of a version that
// can be masked; that it is a masked one is not asked.
func Run(ctx context.Context, def *competitions.Definition, o Options) error {
	if def.Mask.Refused != "" {
		return fmt.Errorf("mask %s: %s", def.ID, def.Mask.Refused)
	}
	work, err := os.MkdirTemp(o.Work, "mask-")
	if err != nil {
		return fmt.Errorf("mask %s: %w", def.ID, err)
	}
	defer os.RemoveAll(work)
	keys := newKeyer(o.Salt)
	m := &masker{rule: ruleOf(def), keys: keys, work: work, spillAt: spillAt, progress: o.Progress}
	if len(m.rule.columns) == 0 {
		return fmt.Errorf("mask %s: the grade block names no column of ids; write mask { refuse = \"…\" } in its definition", def.ID)
	}
	o.Progress.Begin("reading ids", 0, 0)
	collect := func(half string, files fs.FS) error { return m.collect(ctx, half, files, keys.ids.add) }
	if err := o.halves(collect); err != nil {
		return fmt.Errorf("mask %s: %w", def.ID, err)
	}
	o.Progress.Begin("masking", o.Progress.Now().Files, 0)
	if err := o.halves(func(half string, files fs.FS) error { return m.write(ctx, half, files, o.Out) }); err != nil {
		return fmt.Errorf("mask %s: %w", def.ID, err)
	}
	return nil
}

// halves calls a function with the private files and then with the public ones.
func (o *Options) halves(pass func(half string, files fs.FS) error) error {
	if err := pass("private", o.Private); err != nil {
		return err
	}
	return pass("public", o.Public)
}

// Table writes a table, such as a submission, with the ids that the masked
// version of a competition has with a salt. Its rows are sorted as that version
// sorts them.
func Table(def *competitions.Definition, salt Salt, in io.Reader, w io.Writer) error {
	m := &masker{rule: ruleOf(def), keys: newKeyer(salt), spillAt: math.MaxInt}
	return m.table(in, w, ',')
}

// masker rewrites the files of a competition.
type masker struct {
	rule     rule
	keys     change
	work     string
	spillAt  int
	progress *progress.Work
}

// change is the change to the rows and files of an id. It is for one goroutine;
// clone makes another.
type change interface {
	// known reports whether a text is an id, and keep whether its rows and files stay.
	known(text string) bool
	keep(id string) bool
	// key replaces the id, and order is the place of its rows.
	key(id string) string
	order(id string) uint64
	// plain reports whether all bytes except ids stay.
	plain() bool
	clone() change
}

// vocabulary is the set of ids, by a hash of 64 bits.
type vocabulary struct {
	seed maphash.Seed
	set  map[uint64]struct{}
}

func newVocabulary() *vocabulary { return &vocabulary{maphash.MakeSeed(), map[uint64]struct{}{}} }

func (v *vocabulary) add(id string) { v.set[maphash.String(v.seed, id)] = struct{}{} }

func (v *vocabulary) has(id string) bool {
	_, ok := v.set[maphash.String(v.seed, id)]
	return ok
}

// treatment is the way in which a file is masked.
type treatment int

const (
	copied treatment = iota
	csvTable
	tsvTable
	jsonText
	packed
	refused
	picture
)

var commas = map[treatment]byte{csvTable: ',', tsvTable: '\t'}

// holdsIDs are the suffixes of formats that may hold ids and are not rewritten.
var holdsIDs = []string{".parquet", ".bson", ".tfrec", ".tfrecord", ".npy", ".npz", ".mat", ".h5", ".hdf5", ".pkl", ".feather", ".arrow", ".dcm", ".db", ".sqlite"}

func (m *masker) treatmentOf(name string) treatment {
	base := path.Base(name)
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, base)
		return ok
	}
	switch end := strings.ToLower(path.Ext(base)); {
	case slices.ContainsFunc(m.rule.opaque, matches):
		return copied
	case end == ".csv" || slices.ContainsFunc(m.rule.tables, matches):
		return csvTable
	case end == ".tsv":
		return tsvTable
	case end == ".json" || end == ".jsonl" || end == ".ndjson" || end == ".geojson":
		return jsonText
	case archive.FormatOf(base) != "":
		return packed
	case slices.Contains(holdsIDs, end):
		return refused
	case !m.keys.plain() && (end == ".png" || end == ".jpg" || end == ".jpeg"):
		return picture
	}
	return copied
}

// collect calls a function with the ids of a half, each as often as it is there.
func (m *masker) collect(ctx context.Context, half string, files fs.FS, found func(id string)) error {
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.collectFile(ctx, files, name, found); err != nil {
			return fmt.Errorf("%s/%s: %w", half, name, err)
		}
		m.progress.Add(1, 0)
		return nil
	})
}

func (m *masker) collectFile(ctx context.Context, files fs.FS, name string, found func(id string)) error {
	treatment := m.treatmentOf(name)
	switch treatment {
	case copied, picture:
		return nil
	case packed:
		src, format, done, err := m.open(files, name)
		if err != nil {
			return err
		}
		defer done()
		defer m.progress.Add(0, src.Size)
		return archive.Walk(ctx, src, format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
			if e.Folder {
				return nil
			}
			if err := m.collectFrom(m.treatmentOf(e.Name), r, found); err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			return nil
		})
	}
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return m.collectFrom(treatment, m.progress.Reader(f), found)
}

func (m *masker) collectFrom(treatment treatment, r io.Reader, found func(id string)) error {
	switch treatment {
	case csvTable, tsvTable:
		return m.rule.eachID(r, commas[treatment], found)
	case jsonText:
		_, err := documents(r, func(raw []byte) error {
			return scan(raw, func(t token) error {
				if c, _, ok := m.rule.column(t.key); ok && !t.isKey {
					if at := span(c.ID, t.text); at != nil {
						found(t.text[at[0]:at[1]])
					}
				}
				return nil
			})
		})
		return err
	case packed:
		return fmt.Errorf("an archive in an archive cannot be masked; list it in the opaque of the definition's mask block if it holds no ids")
	case refused:
		return fmt.Errorf("masks do not rewrite this format; list it in the opaque of the definition's mask block if it holds no ids, or write refuse there")
	}
	return nil
}

// write masks the files of a half.
func (m *masker) write(ctx context.Context, half string, files fs.FS, out prep.Sink) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	err := m.eachKept(files, func(e entry) error {
		switch to := path.Join(half, e.renamed); {
		case ctx.Err() != nil:
		case e.folder:
			return out.Folder(ctx, to)
		default:
			w := *m // for one goroutine
			w.keys = m.keys.clone()
			group.Go(func() error {
				if err := w.file(ctx, prep.Source{FS: files, Name: e.old}, to, out); err != nil {
					return fmt.Errorf("%s/%s: %w", half, e.old, err)
				}
				m.progress.Add(1, 0)
				return nil
			})
		}
		return nil
	})
	return cmp.Or(err, group.Wait())
}

// file masks one file.
func (m *masker) file(ctx context.Context, from prep.Source, to string, out prep.Sink) error {
	treatment := m.treatmentOf(from.Name)
	if treatment == copied {
		from.Copied = new(atomic.Int64)
		err := out.Copy(ctx, to, from)
		m.progress.Add(0, from.Copied.Load())
		return err
	}
	f, err := out.Create(ctx, to)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<16)
	if treatment == packed {
		err = m.repack(ctx, from, w)
	} else {
		err = m.content(treatment, from, w)
	}
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

func (m *masker) content(treatment treatment, from prep.Source, w io.Writer) error {
	in, err := from.FS.Open(from.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	counted := m.progress.Reader(in)
	switch treatment {
	case csvTable, tsvTable:
		return m.table(counted, w, commas[treatment])
	case jsonText:
		return m.json(counted, w)
	case picture:
		return stripped(w, bufio.NewReaderSize(counted, 1<<16))
	}
	_, err = io.Copy(w, counted)
	return err
}

// path returns a path with the ids in its elements replaced.
func (m *masker) path(name string) string {
	return strings.Join(lists.Of(strings.Split(name, "/"), m.element), "/")
}

// element replaces the id in an element of a path.
func (m *masker) element(part string) string {
	from, to := m.find(part)
	if from == to {
		return part
	}
	return part[:from] + m.keys.key(part[from:to]) + part[to:]
}

// dropped reports whether a file or folder of this name does not stay.
func (m *masker) dropped(base string) bool {
	from, to := m.find(base)
	return from < to && !m.keys.keep(base[from:to])
}

// find returns the range of the id in an element of a path: the match of the mask
// block's expression, the part before a dot, or all of it. A number alone counts
// for the expression only: it may be the name of a class, too.
func (m *masker) find(part string) (from, to int) {
	if m.rule.names != nil {
		if at := span(m.rule.names, part); at != nil && m.keys.known(part[at[0]:at[1]]) {
			return at[0], at[1]
		}
	}
	if !integer.Regexp().MatchString(part) && m.keys.known(part) {
		return 0, len(part)
	}
	for at := strings.LastIndexByte(part, '.'); at > 0; at = strings.LastIndexByte(part[:at], '.') {
		if m.keys.known(part[:at]) {
			return 0, at
		}
	}
	return 0, 0
}
