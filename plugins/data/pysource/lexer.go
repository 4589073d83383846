package pysource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	Name    Kind = iota
	Keyword      // reserved words, True, False and None among them
	Number
	String  // with prefix and quotes
	Op      // operators, brackets and delimiters
	Newline // the end of a logical line
)

// Token is a token and its place.
type Token struct {
	Kind Kind
	Text string // empty for Newline
	Line int    // the first is 0; an index of Source.Lines
}

var keywords = wordSet(`False None True and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// starts are the keywords that begin a statement and nothing else. At the
// beginning of a line they end a bracket that was never closed.
var starts = wordSet("assert break class continue def del import raise return try while with")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// operators of more than one character, the longest first.
var operators = []string{"**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "**", "//", ">>", "<<", "<=", ">=", "==", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@="}

// lexer reads one text.
type lexer struct {
	src    string
	at     int
	line   int
	depth  int // of brackets
	tokens []Token
	// open are the triple quotes of which none follows.
	open map[string]bool
	// fresh is set at the beginning of a physical line.
	fresh bool
}

// Tokens returns the tokens of a text without comments and white space.
func Tokens(src string) []Token {
	l := &lexer{src: src, open: map[string]bool{}, fresh: true}
	for l.at < len(l.src) {
		l.next()
	}
	l.newline()
	return l.tokens
}

func (l *lexer) next() {
	switch c := l.src[l.at]; {
	case c == '\n':
		if l.depth == 0 {
			l.newline()
		}
		l.at, l.line, l.fresh = l.at+1, l.line+1, true
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		l.at++
	case c == '\\' && strings.HasPrefix(l.src[l.at+1:], "\n"):
		l.at, l.line = l.at+2, l.line+1
	case c == '\\' && strings.HasPrefix(l.src[l.at+1:], "\r\n"):
		l.at, l.line = l.at+3, l.line+1
	case c == '#':
		l.at = l.endOfLine()
	case c == '"' || c == '\'':
		l.quoted(l.at)
	case c >= '0' && c <= '9' || c == '.' && l.at+1 < len(l.src) && isDigit(l.src[l.at+1]):
		l.number()
	case c == ';' && l.depth == 0:
		l.newline()
		l.at++
	default:
		l.wordOrOperator()
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) emit(kind Kind, from int) {
	l.tokens = append(l.tokens, Token{kind, l.src[from:l.at], l.line})
	l.fresh = false
}

// newline ends a logical line, if there is one.
func (l *lexer) newline() {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Kind != Newline {
		l.tokens = append(l.tokens, Token{Kind: Newline, Line: l.line})
	}
}

func (l *lexer) endOfLine() int {
	if n := strings.IndexByte(l.src[l.at:], '\n'); n >= 0 {
		return l.at + n
	}
	return len(l.src)
}

// quoted reads a string whose quote is here and whose prefix begins at from.
func (l *lexer) quoted(from int) {
	quote := l.src[l.at : l.at+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(l.src[l.at:], long) && !l.open[long] {
		if end, ok := closing(l.src, l.at+3, long); ok {
			l.at = end
			l.emit(String, from)
			l.line += strings.Count(l.src[from:end], "\n")
			return
		}
		l.open[long] = true // none follows, so it is not looked for again
	}
	// A string that is never closed ends with its line.
	start := l.at
	for l.at++; l.at < len(l.src) && l.src[l.at] != '\n'; l.at++ {
		if l.src[l.at] == quote[0] {
			l.at++
			break
		}
		if l.src[l.at] == '\\' && l.at+1 < len(l.src) {
			l.at++
		}
	}
	l.at = min(l.at, len(l.src))
	l.emit(String, from)
	l.line += strings.Count(l.src[start:l.at], "\n")
}

// closing returns the place after the quote that ends a string.
func closing(src string, at int, quote string) (int, bool) {
	for at < len(src) {
		switch {
		case src[at] == '\\':
			at += 2
		case src[at] == quote[0] && strings.HasPrefix(src[at:], quote):
			return at + len(quote), true
		default:
			at++
		}
	}
	return 0, false
}

func (l *lexer) number() {
	from := l.at
	for l.at < len(l.src) {
		c := l.src[l.at]
		exponent := (c == '+' || c == '-') && l.at > from && (l.src[l.at-1]|0x20) == 'e' && !strings.HasPrefix(l.src[from:], "0x")
		if !isDigit(c) && c != '.' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && !exponent {
			break
		}
		l.at++
	}
	l.emit(Number, from)
}

func (l *lexer) wordOrOperator() {
	from := l.at
	for l.at < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.at:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		l.at += size
	}
	if l.at == from {
		l.operator()
		return
	}
	word := l.src[from:l.at]
	if l.at < len(l.src) && (l.src[l.at] == '"' || l.src[l.at] == '\'') && isPrefix(word) {
		l.quoted(from)
		return
	}
	if !keywords[word] {
		l.emit(Name, from)
		return
	}
	if l.fresh && l.depth > 0 && starts[word] {
		l.depth = 0
		l.newline()
	}
	l.emit(Keyword, from)
}

// isPrefix reports whether a word before a quote belongs to the string.
func isPrefix(word string) bool {
	return len(word) <= 2 && strings.Trim(strings.ToLower(word), "rbuft") == ""
}

func (l *lexer) operator() {
	from := l.at
	for _, op := range operators {
		if strings.HasPrefix(l.src[l.at:], op) {
			l.at += len(op)
			l.emit(Op, from)
			return
		}
	}
	_, size := utf8.DecodeRuneInString(l.src[l.at:])
	switch l.src[l.at] {
	case '(', '[', '{':
		l.depth++
	case ')', ']', '}':
		l.depth = max(l.depth-1, 0)
	}
	l.at += size
	l.emit(Op, from)
}

// Value returns the source between the quotes of a string, escapes included.
func (t Token) Value() string {
	if t.Kind != String {
		return ""
	}
	text := t.Text[strings.IndexAny(t.Text, `'"`):]
	quote := text[:1]
	if long := strings.Repeat(quote, 3); len(text) >= 6 && strings.HasPrefix(text, long) {
		quote = long
	}
	return strings.TrimSuffix(text[len(quote):], quote)
}
