package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/mleflow/mleflow/cache"
)

// sniffed is the number of bytes of a blob that are read to choose its suffix.
const sniffed = 1 << 20

// Suffix returns ".json" for a JSON document such as a report, ".jsonl" for
// JSON lines such as a journal, and "" for other content.
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

// JSON formats a small value for a file.
func JSON(value []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, value, "", "  "); err != nil {
		return nil, err
	}
	return append(text.Bytes(), '\n'), nil
}
