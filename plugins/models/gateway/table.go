package gateway

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the table
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

//go:embed prices.json
var tableFile []byte

// table is the file of public prices, by provider and model.
type table struct {
	Date          string                      `json:"date"`
	Unit          string                      `json:"unit"`
	CollectedFrom string                      `json:"collected_from"`
	Pages         map[string]string           `json:"pages"`
	Models        map[string]map[string]Price `json:"models"`
	// Tools are the prices of a thousand tool calls that apply to all models of
	// a provider.
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

// TableDigest returns the SHA-256 of the table of prices, which determines
// costs and refusals.
func TableDigest() string {
	sum := sha256.Sum256(tableFile)
	return hex.EncodeToString(sum[:])
}

// PriceOf returns the price of one of a provider's models, from the pipeline or
// the table. A dated version that the table does not list has the price of the
// undated model.
func PriceOf(m *Model, name string) (Price, bool) {
	if own, ok := OwnPrice(m, name); ok {
		return own, true
	}
	known := prices().Models[m.Provider]
	if p, ok := known[name]; ok {
		return p, true
	}
	p, ok := known[undated(name)]
	return p, ok
}

// OwnPrice returns the pipeline's own price of a model, if it has one.
func OwnPrice(m *Model, name string) (Price, bool) {
	best, ok := "", false
	for pattern := range m.Prices {
		if matches(pattern, name) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, ok = pattern, true
		}
	}
	return m.Prices[best], ok
}

// Listed returns the price of a model by the table alone, whatever the pipeline
// says. Because pipelines and servers give models names of their own, it also
// finds the model behind a path ("openai/gpt-5.5"), a variant ("gpt-5.5:free",
// "GPT-5.5-mine") and another provider's protocol. It returns the name in the
// table, "" if there is none.
func Listed(provider, name string) (Price, string) {
	known := prices().Models
	for name = strings.ToLower(name[strings.LastIndex(name, "/")+1:]); name != ""; {
		for _, p := range append([]string{provider}, slices.Sorted(maps.Keys(known))...) {
			if price, ok := known[p][name]; ok {
				return price, name
			}
		}
		name = name[:max(0, strings.LastIndexAny(name, "-:@"))]
	}
	return Price{}, ""
}

// ListCost returns what the usage of an exchange costs by the table, or nil if
// the table does not know its model. If another model answered than was asked
// for, the dearer one counts.
func ListCost(e transcript.Event) (cost *int64) {
	for _, name := range []string{e.Asked, e.Answered} {
		price, as := Listed(e.Provider, name)
		if as == "" || e.Usage == nil {
			continue
		}
		if one := int64(price.Cost(*e.Usage)); cost == nil || one > *cost {
			cost = &one
		}
	}
	return cost
}

// undated removes a date from the end of a name, such as -2025-04-14 or
// -20250414.
func undated(name string) string {
	for _, layout := range []string{"-0000-00-00", "-00000000"} {
		at := len(name) - len(layout)
		if at > 0 && strings.Map(digits, name[at:]) == layout {
			return name[:at]
		}
	}
	return name
}

// digits maps every digit to zero.
func digits(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}
