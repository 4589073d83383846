package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// chunk is a part of a file whose columns are typed on their own, with the result.
type chunk struct {
	piece
	cols   []*vector
	lines  *retainedLines // in place of the vectors' data
	fields int            // of its first record
	long   []longRow      // records, after the first, with more fields than all before
	bytes  int            // of raw, which is used again
	filled int            // missing cells that fill up its short records
	err    error
}

// schema holds the known facts about a file before its chunks are read.
type schema struct {
	dialect
	rules
	names   []string    // of the columns after the leading ones
	leading int         // columns that become the index
	width   int         // columns read
	forced  []Kind      // by column, Missing where the kind is inferred
	rows    int         // records a chunk
	pieces  bool        // chunks are pieces of those that pandas types
	retains atomic.Bool // lines are retained, until a chunk cannot be
	file    io.ReaderAt // see ReadOptions.File
	window  int
}

// maxFilled is how many missing cells may fill up short records before their
// number must be in proportion to the file's size: a small file with one long
// record and many short ones would else make a table of any size.
const maxFilled = 1 << 20

var errFilled = errors.New("most records have far fewer fields than the first one")

// parser turns chunks into vectors. It is used by one goroutine.
type parser struct {
	*schema
	guesses []Kind // by column, from the chunk before
	wide    []bool // by column: floats have too many digits to be kept as decimals
	sampled bool
	// inMemory says that lines in the file are not worth it.
	inMemory bool
	texts    []textBuilder
	batch    batch
}

func newParser(s *schema) *parser {
	return &parser{schema: s, guesses: make([]Kind, s.width), wide: make([]bool, s.width), texts: make([]textBuilder, s.width)}
}

const (
	batchCells = 1 << 13
	batchBytes = 1 << 20
)

// parse fills in c's columns or its error.
func (p *parser) parse(c *chunk) {
	if at := InvalidUTF8(c.raw); at >= 0 {
		line := c.firstLine + 1 + bytes.Count(c.raw[:at], []byte{'\n'})
		c.err = fmt.Errorf("line %d: byte 0x%02x is not UTF-8", line, c.raw[at])
		return
	}
	if !p.sampled && (c.rows > sampleRows || p.retains.Load() || p.pieces) {
		p.sample(c)
	}
	c.bytes = len(c.raw)
	if p.retains.Load() {
		if p.retain(c) {
			return
		}
		p.retains.Store(false)
		c.cols, c.filled, c.err = nil, 0, nil
	}
	builders := Collect(p.width, func(i int) builder { return p.builder(i, c) })
	if !p.pieces || !p.cellwise(c, builders) {
		p.build(c, builders)
	}
	if c.err != nil {
		return
	}
	c.cols = make([]*vector, p.width)
	again := false
	for i, b := range builders {
		if b != nil {
			c.cols[i] = b.finish()
		}
		again = again || c.cols[i] == nil
	}
	switch {
	case p.pieces && (again || c.uneven()):
		c.err = errUneven
		return
	case again:
		p.inferRest(c)
	}
	for i, v := range c.cols {
		if v != nil {
			p.guesses[i] = v.kind
			p.wide[i] = v.floats != nil
			if v.hex == nil {
				p.texts[i].share = float64(len(v.text)) / float64(len(c.raw))
			}
		}
	}
}

// builder returns a builder of the guessed kind for column i of a chunk, nil if there is
// none.
func (p *parser) builder(i int, c *chunk) builder {
	if p.forced[i] != Missing {
		return nil
	}
	switch p.guesses[i] {
	case Int64:
		return &intGuess{intList{small: make([]int8, 0, c.rows), n: c.rows}}
	case Float64:
		return &floatGuess{r: p.rules, out: newFloatList(c.rows, p.wide[i])}
	case Text:
		texts := &p.texts[i]
		texts.reserve(c.rows, len(c.raw))
		texts.text, texts.ends, texts.missing, texts.bare = texts.text[:0], texts.ends[:0], texts.missing[:0], p.bare(c)
		return &textGuess{r: p.rules, b: texts}
	}
	return nil
}

// sampleRows is the least number of rows for which a guess from the first few
// pays.
const sampleRows = 4096

// sample guesses the kinds from the chunk's first records.
func (p *parser) sample(c *chunk) {
	p.sampled = true
	t := p.tokenizer(c)
	if !p.nextBatch(&t, &chunk{}, true) {
		return
	}
	spans := p.batch.spans
	if p.pieces {
		spans = spans[:min(len(spans), pieceSample*p.width)]
	}
	all := lists.Of(spans, p.batch.cell)
	for i := range p.guesses {
		v := p.infer(cells{all, p.width, i})
		p.guesses[i] = v.kind
		p.texts[i].share = float64(len(v.text)) / float64(t.pos) * float64(len(p.batch.spans)) / float64(len(spans))
	}
}

// build cuts the chunk into fields and feeds them to the builders. Builders
// whose guess fails are dropped.
func (p *parser) build(c *chunk, builders []builder) {
	t := p.tokenizer(c)
	first := true
	p.batch.patterns = make([]pattern, p.width)
	for p.nextBatch(&t, c, first) {
		first = false
		for i, b := range builders {
			if b != nil && !b.add(&p.batch, i, p.width) {
				builders[i] = nil
			}
		}
		t.regular = t.plain && p.comma != '.' && !isDigit(p.comma) && p.batch.regular()
	}
	if t.open {
		c.err = fmt.Errorf("line %d: a quoted field is not closed", c.firstLine+t.lines)
	}
}

func (p *parser) tokenizer(c *chunk) tokenizer {
	t := tokenizer{dialect: p.dialect, raw: c.raw, nul: bytes.IndexByte(c.raw, 0) >= 0, most: maxColumns}
	t.plain = !t.nul && c.simple
	return t
}

// bare reports whether no cell can hold a quote, a comma or a line feed.
func (p *parser) bare(c *chunk) bool { return c.simple && p.comma == ',' && p.quote != 0 }

// nextBatch cuts some more records; every one gets width fields.
func (p *parser) nextBatch(t *tokenizer, c *chunk, first bool) bool {
	b := &p.batch
	b.raw, b.base, b.side, b.spans, b.rows = t.raw, t.pos, b.side[:0], b.spans[:0], 0
	b.ends = b.ends[:0]
	for len(b.spans) < batchCells && t.pos-b.base < batchBytes && len(b.side) < batchBytes {
		start := len(b.spans)
		if !t.record(b) {
			break
		}
		if t.wide {
			c.err = tooWide(c.firstLine + t.lines)
			return false
		}
		n := len(b.spans) - start
		if first {
			c.fields, c.long, first = n, nil, false
		} else if k := len(c.long); n > min(c.fields, p.width) && (k == 0 || n > c.long[k-1].fields) {
			c.long = append(c.long, longRow{c.firstLine + t.lines, n})
		}
		for ; n < p.width; n++ {
			c.filled++
			b.spans = append(b.spans, span{})
		}
		b.spans = b.spans[:start+p.width]
		b.rows++
		b.ends = append(b.ends, uint32(t.pos-b.base))
	}
	return b.rows > 0
}

// inferRest types the columns that have no vector yet from all their fields.
func (p *parser) inferRest(c *chunk) {
	all := make([][]byte, 0, c.rows*p.width)
	t := p.tokenizer(c)
	for p.nextBatch(&t, &chunk{}, true) {
		for _, s := range p.batch.spans {
			all = append(all, p.batch.cell(s))
		}
		p.batch.side = nil // the cells keep it
	}
	for i := range c.cols {
		if c.cols[i] != nil {
			continue
		}
		col := cells{all, p.width, i}
		if kind := p.forced[i]; kind != Missing {
			if c.cols[i], c.err = p.as(kind, col); c.err != nil {
				c.err = fmt.Errorf("column %q: after line %d: %w", p.columnName(i), c.firstLine, c.err)
				return
			}
			continue
		}
		c.cols[i] = p.infer(col)
	}
}

func (s *schema) columnName(i int) string {
	if i < s.leading {
		return strconv.Itoa(i)
	}
	return s.names[i-s.leading]
}

// InvalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func InvalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
