package winnow

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// Format is the name of the format of databases; FORMAT.md describes it.
const Format = "mleflow-fingerprints-1"

// The most that a database may hold.
const (
	maxLineBytes = 64 << 20
	maxDocuments = 1_000_000
	maxTokens    = 1 << 26 // of all documents
)

// Database are the documents that code is compared with.
type Database struct {
	Method Method
	// Common is the share of the documents from which on a fingerprint is
	// boilerplate; see common.
	Common    float64
	Documents []*Document
}

// Document is the code of one file, or of several that belong together.
type Document struct {
	Name string `json:"name"`
	// SHA256 is the digest of the code as it was read.
	SHA256 string `json:"sha256"`
	Files  []File `json:"files"`
}

// File is a file of a document.
type File struct {
	Name   string          `json:"name"`
	Cells  []pysource.Cell `json:"cells,omitempty"`
	Tokens tokens          `json:"tokens"`
	Lines  []string        `json:"lines,omitempty"` // empty if the database was built without the code
}

// Place names the line of a token for people.
func (f *File) Place(line int) string { return f.Name + ":" + pysource.Place(f.Cells, line) }

// NewDocument reads code that belongs together, such as the code of an attempt.
// The names that any of its files defines are local in all of them.
func NewDocument(name string, sources []*pysource.Source) *Document {
	local := map[string]bool{}
	for _, s := range sources {
		define(local, s.Tokens())
	}
	d, sum := &Document{Name: name}, digest.NewWriter()
	for _, s := range sources {
		d.Files = append(d.Files, File{Name: s.Name, Cells: s.Cells, Lines: s.Lines, Tokens: normalise(s.Tokens(), local)})
		for _, line := range s.Lines {
			fmt.Fprintln(sum, line)
		}
	}
	d.SHA256 = sum.ID().String()
	return d
}

// Tokens is the number of tokens of a document.
func (d *Document) Tokens() (n int) {
	for _, f := range d.Files {
		n += len(f.Tokens)
	}
	return n
}

type header struct {
	Format    string  `json:"format"`
	Method    Method  `json:"method"`
	Common    float64 `json:"common"`
	Documents int     `json:"documents"`
}

// Write writes the database. The same documents give the same bytes, in
// whatever order they are. Without source, the code itself is left out and only
// hashes of its tokens are written.
func (db *Database) Write(w io.Writer, source bool) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{Format, db.Method, db.Common, len(db.Documents)}); err != nil {
		return fmt.Errorf("write fingerprints: %w", err)
	}
	sorted := slices.Clone(db.Documents)
	slices.SortFunc(sorted, func(a, b *Document) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range sorted {
		line := *d
		line.Files = slices.Clone(d.Files)
		for i := range line.Files {
			if !source {
				line.Files[i].Lines = nil
			}
		}
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("write fingerprints: %w", err)
		}
	}
	return out.Flush()
}

// Read reads a database that Write wrote.
func Read(r io.Reader) (*Database, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	var head header
	if err := nextLine(lines, &head); err != nil {
		return nil, fmt.Errorf("read fingerprints: %w", err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("read fingerprints: the format is %q, not %q; build the database again", head.Format, Format)
	}
	if err := head.Method.check(); err != nil {
		return nil, fmt.Errorf("read fingerprints: %w", err)
	}
	if head.Documents < 0 || head.Documents > maxDocuments {
		return nil, fmt.Errorf("read fingerprints: %d documents; at most %d are read", head.Documents, maxDocuments)
	}
	db, total := &Database{Method: head.Method, Common: head.Common}, 0
	for range head.Documents {
		d := &Document{}
		if err := nextLine(lines, d); err != nil {
			return nil, fmt.Errorf("read fingerprints: document %d: %w", len(db.Documents)+1, err)
		}
		if total += d.Tokens(); total > maxTokens {
			return nil, fmt.Errorf("read fingerprints: there are more than %d tokens", maxTokens)
		}
		db.Documents = append(db.Documents, d)
	}
	if lines.Scan() {
		return nil, fmt.Errorf("read fingerprints: the file goes on after %d documents", head.Documents)
	}
	return db, lines.Err()
}

func (m Method) check() error {
	if m.Gram < 2 || m.Gram > 1000 || m.Window < 1 || m.Window > 10_000 || m.Distinct < 1 || m.Distinct > m.Gram {
		return fmt.Errorf("gram %d, window %d and distinct %d are no method", m.Gram, m.Window, m.Distinct)
	}
	return nil
}

func nextLine(lines *bufio.Scanner, into any) error {
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(lines.Bytes(), into)
}

// tokens are the tokens of a file.
type tokens []token

// MarshalText writes each token as its code, four bytes with the lowest first,
// and the distance of its line from that of the one before, a varint.
func (list tokens) MarshalText() ([]byte, error) {
	var out []byte
	var line int32
	for _, t := range list {
		out = binary.LittleEndian.AppendUint32(out, t.code)
		out = binary.AppendVarint(out, int64(t.line-line))
		line = t.line
	}
	return base64.StdEncoding.AppendEncode(nil, out), nil
}

var errTokens = errors.New("the tokens are damaged")

// UnmarshalText reads what MarshalText wrote.
func (list *tokens) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return errTokens
	}
	var line int64
	for *list = nil; len(data) > 0; {
		step, n := binary.Varint(data[min(4, len(data)):])
		if line += step; n <= 0 || line < 0 || line > pysource.MaxCode {
			return errTokens
		}
		*list = append(*list, token{binary.LittleEndian.Uint32(data), int32(line)})
		data = data[4+n:]
	}
	return nil
}
