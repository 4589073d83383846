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
	Name string
	// SHA256 is the digest of the code as it was read.
	SHA256 string
	Files  []File
}

// File is a file of a document.
type File struct {
	Name   string
	Cells  []pysource.Cell
	Lines  []string // empty if the database was built without the code
	tokens []token
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
		d.Files = append(d.Files, File{Name: s.Name, Cells: s.Cells, Lines: s.Lines, tokens: normalise(s.Tokens(), local)})
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
		n += len(f.tokens)
	}
	return n
}

type header struct {
	Format    string  `json:"format"`
	Method    Method  `json:"method"`
	Common    float64 `json:"common"`
	Documents int     `json:"documents"`
}

type documentLine struct {
	Name   string     `json:"name"`
	SHA256 string     `json:"sha256"`
	Files  []fileLine `json:"files"`
}

type fileLine struct {
	Name   string          `json:"name"`
	Cells  []pysource.Cell `json:"cells,omitempty"`
	Tokens string          `json:"tokens"`
	Lines  []string        `json:"lines,omitempty"`
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
		line := documentLine{Name: d.Name, SHA256: d.SHA256}
		for _, f := range d.Files {
			one := fileLine{Name: f.Name, Cells: f.Cells, Tokens: encodeTokens(f.tokens)}
			if source {
				one.Lines = f.Lines
			}
			line.Files = append(line.Files, one)
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
		var line documentLine
		if err := nextLine(lines, &line); err != nil {
			return nil, fmt.Errorf("read fingerprints: document %d: %w", len(db.Documents)+1, err)
		}
		d, err := line.document()
		if err != nil {
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

func (l documentLine) document() (*Document, error) {
	d := &Document{Name: l.Name, SHA256: l.SHA256}
	for _, f := range l.Files {
		tokens, err := decodeTokens(f.Tokens)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		d.Files = append(d.Files, File{Name: f.Name, Cells: f.Cells, Lines: f.Lines, tokens: tokens})
	}
	return d, nil
}

// encodeTokens writes each token as its code, four bytes with the lowest first,
// and the distance of its line from that of the one before, a varint.
func encodeTokens(tokens []token) string {
	var out []byte
	var line int32
	for _, t := range tokens {
		out = binary.LittleEndian.AppendUint32(out, t.code)
		out = binary.AppendVarint(out, int64(t.line-line))
		line = t.line
	}
	return base64.StdEncoding.EncodeToString(out)
}

var errTokens = errors.New("the tokens are damaged")

func decodeTokens(text string) ([]token, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errTokens
	}
	var out []token
	var line int64
	for len(data) > 0 {
		if len(data) < 5 {
			return nil, errTokens
		}
		step, n := binary.Varint(data[4:])
		if n <= 0 {
			return nil, errTokens
		}
		if line += step; line < 0 || line > pysource.MaxCode {
			return nil, errTokens
		}
		out = append(out, token{binary.LittleEndian.Uint32(data), int32(line)})
		data = data[4+n:]
	}
	return out, nil
}
