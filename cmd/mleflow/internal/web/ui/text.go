package ui

import (
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), board.CompareNames)
}

func escaped(text string) string { return url.QueryEscape(text) }

// bounded shortens a text to n bytes and adds how much is omitted.
func bounded(text []byte, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:n]), "\ufffd") + "\n… " + view.Bytes(int64(len(text)-n)) + " more"
}

func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// oneLine is the beginning of a text on a line.
func oneLine(text string, n int) string {
	text = text[:min(len(text), 8*n)]
	return view.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " "), n)
}

// decode reads the JSON of a value of an event; false if it is not of this form.
func decode(text string, to any) bool { return text != "" && json.Unmarshal([]byte(text), to) == nil }

func runAddress(id string) string { return "/runs/" + url.PathEscape(id) }

// stepAddress returns the address of a step's page, for one of its tabs.
func stepAddress(run, address, tab string) string {
	q := url.Values{"address": {address}}
	if tab != "" {
		q.Set("tab", tab)
	}
	return "/step/" + url.PathEscape(run) + "?" + q.Encode()
}
