package site

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
)

// carried is a bundle on its way from the process that judged it.
type carried struct {
	Bundle     *Bundle
	Disclosure *bundle.Disclosure
	Rows       []*Row
}

// Carry writes a bundle that was judged for the process that builds the board.
func (b *Bundle) Carry(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(carried{b, b.Disclosure, b.Rows}); err != nil {
		return fmt.Errorf("write the bundle's rows: %w", err)
	}
	return nil
}

// Receive reads the output of Carry.
func Receive(text []byte) (*Bundle, error) {
	var c carried
	if err := json.Unmarshal(text, &c); err != nil || c.Bundle == nil {
		return nil, fmt.Errorf("read the bundle's rows: %w", err)
	}
	c.Bundle.Disclosure, c.Bundle.Rows = c.Disclosure, c.Rows
	for _, r := range c.Rows {
		r.Bundle = c.Bundle
	}
	return c.Bundle, nil
}
