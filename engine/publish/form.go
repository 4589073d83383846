package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/mleflow/mleflow/cache"
)

// sniffed is how much of a blob is read to choose its suffix.
const sniffed = 1 << 20

// Suffix distinguishes a JSON document and JSON lines, as reports and journals
// are, from other content.
func Suffix(ctx context.Context, store cache.Store, ref cache.Ref) (string, error) {
	r, err := store.Open(ctx, ref.ID)
	if err != nil {
		return "", err
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, sniffed))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch text := bytes.TrimSpace(head); {
	case len(text) == 0 || text[0] != '{' && text[0] != '[':
		return "", nil
	case json.Valid(text):
		return ".json", nil
	case json.Valid(line):
		return ".jsonl", nil
	}
	return "", nil
}

// JSON is a small value as the content of a file.
func JSON(value []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, value, "", "  "); err != nil {
		return nil, err
	}
	return append(text.Bytes(), '\n'), nil
}
