package secret

import "errors"

// ErrFound is the error of a Guard that saw a secret.
var ErrFound = errors.New("it contains a secret")

// Guard looks for secrets in a stream, even for those that are split between writes,
// and changes nothing.
type Guard struct {
	secrets *Set
	held    []byte
}

// NewGuard returns a Guard.
func NewGuard(s *Set) *Guard {
	if s == nil {
		s = New()
	}
	return &Guard{secrets: s}
}

// Write implements io.Writer. It returns ErrFound from the write on that completes
// a secret.
func (g *Guard) Write(p []byte) (int, error) {
	if g.secrets.empty {
		return len(p), nil
	}
	text := p
	if len(g.held) > 0 {
		text = append(g.held, p...)
	}
	held := len(text)
	for i := g.secrets.next(text, 0); i < len(text); i = g.secrets.next(text, i+1) {
		length, open := g.secrets.at(text[i:])
		if length > 0 {
			g.held = text
			return 0, ErrFound
		}
		if open {
			held = min(held, i)
		}
	}
	g.held = append(g.held[:0:0], text[held:]...)
	return len(p), nil
}

// Held returns the number of last bytes that may be the beginning of a secret.
func (g *Guard) Held() int { return len(g.held) }
