package mask

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// documents calls a function with every element of an array, or with every
// document of a stream such as JSON Lines. array says which it is. Values are
// not checked: Python writes NaN.
func documents(in io.Reader, each func(raw []byte) error) (array bool, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	if array, err = startsArray(r); err != nil {
		return false, ignoreEOF(err)
	}
	if array {
		_, _ = r.Discard(1)
	}
	var raw []byte
	depth, quoted, escaped := 0, false, false
	flush := func() error {
		defer func() { raw = raw[:0] }()
		if one := bytes.TrimSpace(raw); len(one) > 0 {
			return each(one)
		}
		return nil
	}
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) && !array && depth == 0 && !quoted {
			return array, flush()
		}
		if err != nil {
			return array, io.ErrUnexpectedEOF
		}
		switch {
		case quoted:
			quoted = escaped || c != '"'
			escaped = !escaped && c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return array, flush()
			}
		}
		between := depth == 0 && !quoted && (array && c == ',' || !array && c == '\n')
		if !between {
			raw = append(raw, c)
			continue
		}
		if err := flush(); err != nil {
			return array, err
		}
	}
}

// startsArray skips spaces and looks at what follows.
func startsArray(r *bufio.Reader) (bool, error) {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return false, err
		}
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		return c == '[', r.UnreadByte()
	}
}

// json writes a JSON file with other ids. The elements of an array and the lines
// of a stream get another order.
func (m *masker) json(in io.Reader, w io.Writer) error {
	sorted := m.newSorter()
	defer sorted.Close()
	array, err := documents(in, func(raw []byte) error {
		out, order, keep, err := m.document(raw)
		if err != nil || !keep {
			return err
		}
		return sorted.add(order, out)
	})
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	before, after := "", "\n"
	if array {
		if _, err := io.WriteString(w, "["); err != nil {
			return err
		}
		after = ""
	}
	err = sorted.Each(func(_, value []byte) error {
		_, err := fmt.Fprintf(w, "%s%s%s", before, value, after)
		if array {
			before = ","
		}
		return err
	})
	if err == nil && array {
		_, err = io.WriteString(w, "]\n")
	}
	return err
}

// document returns a JSON value with other ids, and its place: that of the id
// whose column comes first among the id columns. One about several ids stays.
func (m *masker) document(raw []byte) (out []byte, order uint64, keep bool, err error) {
	out = make([]byte, 0, len(raw)+len(raw)/8)
	best, end, only, several := len(m.rule.columns), 0, "", false
	err = scan(raw, func(t token) error {
		text, err := m.value(t, func(rank int, id string) {
			if rank < best {
				best, order, only = rank, m.keys.order(id), id
			}
			several = several || id != only
		})
		if err != nil || text == t.text {
			return err
		}
		out = append(out, raw[end:t.from]...)
		if t.quoted {
			text = jsontoken.Quote(text)
		}
		out, end = append(out, text...), t.to
		return nil
	})
	return append(out, raw[end:]...), order, only == "" || several || m.keys.keep(only), err
}

// value returns a key, string or number with other ids.
func (m *masker) value(t token, found func(rank int, id string)) (string, error) {
	c, rank, ok := m.rule.column(t.key)
	if t.isKey || !ok {
		if t.quoted && !integer.Regexp().MatchString(t.text) {
			return m.path(t.text), nil
		}
		return t.text, nil
	}
	at := span(c.ID, t.text)
	if at == nil {
		return t.text, nil
	}
	id := t.text[at[0]:at[1]]
	found(rank, id)
	text := t.text[:at[0]] + m.keys.key(id) + t.text[at[1]:]
	if !t.quoted && !integer.Regexp().MatchString(text) {
		return "", fmt.Errorf("member %s: no number can stand for %s", t.key, t.text)
	}
	return text, nil
}

// token is a key, a string or a number of a JSON value.
type token struct {
	from, to int
	text     string
	quoted   bool
	isKey    bool
	// key has the names of the members that the value is in, as in images/id.
	key string
}

// frame is an object or an array that a token is in: the names of the members
// around it, and with its own.
type frame struct{ base, key string }

var errJSON = errors.New("malformed JSON")

// scan calls a function with every key, string and number of a valid value.
func scan(raw []byte, each func(token) error) error {
	stack := []frame{{}}
	for t := jsontoken.New(raw); t.Next(); {
		found := token{from: t.Start, to: t.End, quoted: t.Kind == jsontoken.String, isKey: t.Name}
		top := &stack[len(stack)-1]
		switch t.Kind {
		case '{', '[':
			stack = append(stack, frame{base: top.key, key: top.key})
			continue
		case '}', ']':
			if len(stack) == 1 {
				return errJSON
			}
			stack = stack[:len(stack)-1]
			continue
		case jsontoken.Open:
			return errJSON
		case jsontoken.String:
			text, err := jsontoken.Unquote(raw[t.Start:t.End])
			if err != nil {
				return err
			}
			if found.text = text; t.Name {
				top.key = path.Join(top.base, text)
			}
		case jsontoken.Word:
			if c := raw[t.Start]; c != '-' && (c < '0' || c > '9') {
				continue
			}
			found.text = string(raw[t.Start:t.End])
		default:
			continue
		}
		found.key = top.key
		if err := each(found); err != nil {
			return err
		}
	}
	return nil
}
