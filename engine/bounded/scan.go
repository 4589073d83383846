// Package bounded parses and evaluates HCL that may be hostile. It refuses text
// that is nested so deeply that the parser, or a walk over its tree, would run
// out of stack. Evaluation counts its steps and the sizes of new values. It
// stops with a diagnostic at the place that exceeds a limit. The limits do not
// depend on time, so the same text has the same outcome on every machine.
package bounded

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
)

// Limits of text.
const (
	// maxText bounds a file in bytes. maxSigns bounds the bytes that are not
	// letters, digits or spaces. Each of these may become a token.
	maxText, maxSigns = 4 << 20, 500_000
	// maxDepth bounds the nesting of brackets, quotes, blocks and template
	// directives, plus the operators, indexes and attributes in a row at each
	// level.
	maxDepth = 1000
	// maxName bounds a name or number in bytes.
	maxName = 1000
	// maxMoved bounds the bytes that the parser moves while it joins the lines of
	// heredocs. It joins them one by one, so the time grows with their square.
	maxMoved = 2 << 30
)

// Parse is hclsyntax.ParseConfig with limits.
func Parse(src []byte, path string) (*hcl.File, hcl.Diagnostics) {
	if len(src) <= maxText && signs(src) <= maxSigns {
		return ParseLarge(src, path)
	}
	at := hcl.Range{Filename: path, Start: hcl.InitialPos, End: hcl.InitialPos}
	return refused(src, diag.Error(at, "File too large", "A file has at most %d MiB, and at most %d signs such as brackets and commas. Read large lists from other files, for example with jsondecode(file(…)).", maxText>>20, maxSigns))
}

// ParseLarge is Parse without a limit of size, for a text such as a lock file. Names
// are composed (NFC), as values are, so that they are the same in every editor.
func ParseLarge(src []byte, path string) (*hcl.File, hcl.Diagnostics) {
	src = []byte(cty.NormalizeString(string(src)))
	if !short(src) {
		tokens, _ := hclsyntax.LexConfig(src, path, hcl.InitialPos)
		if d := scan(tokens); d != nil {
			return refused(src, d)
		}
	}
	file, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	return file, diags[:min(len(diags), 2*diag.MaxShown)]
}

func refused(src []byte, d *hcl.Diagnostic) (*hcl.File, hcl.Diagnostics) {
	empty := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: *d.Subject, EndRange: *d.Subject}
	return &hcl.File{Body: empty, Bytes: src}, hcl.Diagnostics{d}
}

// ParseExpression is hclsyntax.ParseExpression with limits.
func ParseExpression(src []byte, path string) (hclsyntax.Expression, hcl.Diagnostics) {
	return parsed(src, path, hclsyntax.LexExpression, hclsyntax.ParseExpression)
}

// parseTemplate is hclsyntax.ParseTemplate with limits.
func parseTemplate(src []byte, path string) (hclsyntax.Expression, hcl.Diagnostics) {
	return parsed(src, path, hclsyntax.LexTemplate, hclsyntax.ParseTemplate)
}

func parsed(src []byte, path string, lex func([]byte, string, hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics),
	parse func([]byte, string, hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics)) (hclsyntax.Expression, hcl.Diagnostics) {
	tokens, _ := lex(src, path, hcl.InitialPos)
	if d := scan(tokens); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return parse(src, path, hcl.InitialPos)
}

// signs counts the bytes that may be separate tokens.
func signs(src []byte) (n int) {
	for _, b := range src {
		if b > ' ' && b < '0' || b > '9' && b < 'A' || b > 'Z' && b < '_' || b > '`' && b < 'a' || b > 'z' && b < 0x7f {
			n++
		}
	}
	return n
}

// short reports whether a text has so few signs, and so short lines, that scan would
// find nothing in it. It takes a hundredth of the time.
func short(src []byte) bool {
	signs, line := 1, 0 // 1 for the token at the end
	for _, b := range src {
		line++
		switch {
		case b == '\n':
			line, signs = 0, signs+1
		case b != ' ' && b != '_' && (b < '0' || b > '9') && (b < 'A' || b > 'Z') && (b < 'a' || b > 'z'):
			signs++
		}
		if signs > maxDepth || line > maxName {
			return false
		}
	}
	return true
}

// closers maps an opening token to its closing token.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOParen: hclsyntax.TokenCParen,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// bracket is an open bracket with the length of the row that it belongs to, and the
// literals of the template that it belongs to.
type bracket struct {
	closer hclsyntax.TokenType
	row    int
	literals
}

// literals are the literal tokens of a template: how many the parser joins with the
// one before, and the length of the last joined literal.
type literals struct{ joins, length int }

// part adds a part of the template, a literal or a sequence, and returns the bytes
// that the parser moves for it: what is joined already, and a reference for each
// token that was removed before it.
func (l *literals) part(t hclsyntax.Token) (moved int) {
	moved = 16 * l.joins
	if t.Type != hclsyntax.TokenStringLit && t.Type != hclsyntax.TokenQuotedLit {
		l.length = 0
		return moved
	}
	if l.length > 0 {
		l.joins++
		moved += l.length
	}
	l.length += len(t.Bytes)
	return moved
}

// scan returns a diagnostic for the first token that exceeds a limit.
func scan(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	var open []bracket
	depth, row := 0, 0 // depth sums all rows, row is the row of the innermost bracket
	var template literals
	moved := 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if moved += template.part(t); moved > maxMoved {
				return diag.Error(t.Range, "Text too long", "The heredocs and templates up to here have too many lines: some 7,000 of 60 characters are allowed in one. Put the text into a file, and read it with file(…).")
			}
		}
		switch closer, opens := closers[t.Type]; {
		case opens:
			open = append(open, bracket{closer, row + 1, template})
			depth, row, template = depth+1, 0, literals{}
			if t.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens) {
				depth = max(0, depth+directive(tokens[i+1]))
			}
		case len(open) > 0 && t.Type == open[len(open)-1].closer:
			depth, row, template = depth-row, open[len(open)-1].row, open[len(open)-1].literals
			open = open[:len(open)-1]
		case t.Type == hclsyntax.TokenComma, newline(t) && (len(open) == 0 || open[len(open)-1].closer == hclsyntax.TokenCBrace),
			t.Type == hclsyntax.TokenQuotedLit, t.Type == hclsyntax.TokenStringLit:
			depth, row = depth-row, 0
		case (t.Type == hclsyntax.TokenIdent || t.Type == hclsyntax.TokenNumberLit) && len(t.Bytes) > maxName:
			return diag.Error(t.Range, "Name or number too long", "It has %d characters; a name or number has at most %d.", len(t.Bytes), maxName)
		case t.Type != hclsyntax.TokenIdent && t.Type != hclsyntax.TokenNumberLit && t.Type != hclsyntax.TokenEqual && t.Type != hclsyntax.TokenColon && t.Type != hclsyntax.TokenComment:
			depth, row = depth+1, row+1
		}
		if depth > maxDepth {
			return diag.Error(t.Range, "Nested too deeply", "Brackets, quotes and operators are nested more than %d deep here. Write parts of it as local values.", maxDepth)
		}
	}
	return nil
}

// newline reports whether a token ends a line, as a comment at its end does.
func newline(t hclsyntax.Token) bool {
	return t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte("\n"))
}

// directive returns the effect of a template directive on the depth of the
// following tokens.
func directive(t hclsyntax.Token) int {
	switch string(t.Bytes) {
	case "if", "for":
		return 1
	case "endif", "endfor":
		return -1
	}
	return 0
}
