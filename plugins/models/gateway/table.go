package gateway

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the table
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

//go:embed prices.json
var tableFile []byte

// table is the file of public prices: by provider, then by model.
type table struct {
	Date          string                      `json:"date"`
	Unit          string                      `json:"unit"`
	CollectedFrom string                      `json:"collected_from"`
	Pages         map[string]string           `json:"pages"`
	Models        map[string]map[string]Price `json:"models"`
	// Tools are the prices of a thousand calls of tools that are the same for all
	// models of a provider.
	Tools map[string]map[dialect.Tool]Dollars `json:"tools"`
}

var prices = sync.OnceValue(func() *table {
	t, err := readTable(tableFile)
	if err != nil {
		panic(fmt.Sprintf("prices.json: %v", err)) // a test reads it
	}
	return t
})

func readTable(data []byte) (*table, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	t := &table{}
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	for provider, models := range t.Models {
		for name, p := range models {
			calls := maps.Clone(t.Tools[provider])
			maps.Copy(calls, p.ToolCalls)
			p.ToolCalls = calls
			models[name] = p
		}
	}
	return t, nil
}

// TableDigest is the SHA-256 of the table of prices. Costs and refusals follow
// from it.
func TableDigest() string {
	sum := sha256.Sum256(tableFile)
	return hex.EncodeToString(sum[:])
}

// PriceOf finds the price of one of a provider's models: the pipeline's, or that
// of the table. A dated version that the table does not list costs what the
// model costs.
func PriceOf(m *Model, name string) (Price, bool) {
	best, ok := "", false
	for pattern := range m.Prices {
		if matches(pattern, name) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, ok = pattern, true
		}
	}
	if ok {
		return m.Prices[best], true
	}
	known := prices().Models[m.Provider]
	if p, ok := known[name]; ok {
		return p, true
	}
	p, ok := known[undated(name)]
	return p, ok
}

// undated returns a name without the date at its end, -2025-04-14 or -20250414.
func undated(name string) string {
	for _, layout := range []string{"-0000-00-00", "-00000000"} {
		at := len(name) - len(layout)
		if at > 0 && strings.Map(digits, name[at:]) == layout {
			return name[:at]
		}
	}
	return name
}

// digits makes every digit a zero.
func digits(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}
