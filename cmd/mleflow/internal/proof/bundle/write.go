package bundle

import (
	"context"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

// Written describes a written bundle.
type Written struct {
	Run      string           `json:"run"`
	File     string           `json:"file"`
	Bytes    int64            `json:"bytes"`
	Files    int              `json:"files"`
	Manifest digest.ContentID `json:"manifest"`
	// Omitted lists the content that is not in it.
	Omitted []Omission `json:"omitted"`
	// KeyID is the key that signed it, empty if none did.
	KeyID string `json:"key_id,omitempty"`
}

// Write writes the bundle of a run to the file at path, which appears whole or
// not at all.
func Write(ctx context.Context, path string, src Source) (*Written, error) {
	src.Work.Begin("reading results", 0, 0)
	c, err := collect(ctx, src)
	if err != nil {
		return nil, err
	}
	out := &Written{Run: c.Run.ID, File: path, Omitted: c.omitted}
	if out.KeyID, err = c.attest(); err != nil {
		return nil, err
	}
	items := c.sorted()
	out.Files = len(items)
	err = wholefile.Replace(path, func(w io.Writer) (err error) {
		out.Manifest, out.Bytes, err = c.pack(w, items)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write bundle %s: %w", path, err)
	}
	return out, nil
}

// pack writes the bundle, and looks for secrets in every file of it. Those of agents
// were searched before.
func (c *collector) pack(w io.Writer, items []item) (digest.ContentID, int64, error) {
	for i, it := range items {
		if _, err := secret.NewGuard(c.leaks.secrets).Write([]byte(it.Path + "\n")); err != nil {
			return digest.ContentID{}, 0, fmt.Errorf("the name of an agent's file: %w", errLeak)
		}
		items[i].open = func() (io.ReadCloser, error) {
			r, err := it.open()
			if err != nil {
				return nil, err
			}
			return watched{r, secret.NewGuard(c.leaks.secrets)}, nil
		}
	}
	return pack(w, c.Run.ID, items, c.src.Work)
}

// watched is a file that is read under watch.
type watched struct {
	io.ReadCloser
	guard *secret.Guard
}

// Read implements io.Reader. It fails when a secret was read.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if _, found := w.guard.Write(p[:n]); found != nil {
		return 0, errLeak
	}
	return n, err
}

// attest adds the provenance of everything else.
func (c *collector) attest() (keyID string, err error) {
	var files []File
	for _, it := range c.sorted() {
		files = append(files, it.File)
	}
	frame, err := seal(c.Run.ID, files)
	if err != nil {
		return "", err
	}
	statement, err := document(c.statement(frame.contents))
	if err != nil {
		return "", err
	}
	c.add(statementFile, statement)
	if c.src.Key == nil {
		return "", nil
	}
	env, err := c.src.Key.sign(statement)
	if err != nil {
		return "", err
	}
	keyID = env.Signatures[0].KeyID
	return keyID, c.addDocument(envelopeFile, env)
}
