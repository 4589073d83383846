package dialect

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// protocol implements Dialect. What the dialects have in common is in their tables, NAME.jsonc.
type protocol struct {
	table
	name string
	// read checks a request beyond its shape and fills in what bounds its cost.
	read func(d *protocol, in Incoming, grants Grants) (*Request, error)
}

// dialects reads the tables once.
var dialects = sync.OnceValue(func() []*protocol {
	list := []*protocol{
		{name: "openai", read: readOpenAI}, {name: "anthropic", read: readAnthropic}, {name: "gemini", read: readGemini},
	}
	readTables(list)
	return list
})

// All returns the dialects.
func All() []Dialect { return lists.Of(dialects(), func(d *protocol) Dialect { return d }) }

// Named returns the dialect with that name, or nil if there is none.
func Named(name string) Dialect {
	for _, d := range dialects() {
		if d.name == name {
			return d
		}
	}
	return nil
}

// Name implements Dialect.
func (d *protocol) Name() string { return d.name }

// BaseURL implements Dialect.
func (d *protocol) BaseURL() string { return d.table.BaseURL }

// KeyPrefix implements Dialect.
func (d *protocol) KeyPrefix() string { return d.table.KeyPrefix }

// Variables implements Dialect.
func (d *protocol) Variables(endpoint, key string) map[string]string {
	list := map[string]string{}
	for name, value := range d.table.Variables {
		list[name] = strings.NewReplacer("{endpoint}", endpoint, "{key}", key).Replace(value)
	}
	return list
}

// Read implements Dialect.
func (d *protocol) Read(in Incoming, grants Grants) (*Request, error) { return d.read(d, in, grants) }

// Usage implements Dialect.
func (d *protocol) Usage(r *Request) Meter {
	return newMeter(ofOperation(d.Reports, r.Operation), r)
}

// Error implements Dialect. The clients of OpenAI and Anthropic obey X-Should-Retry, so they do
// not retry a permanent error.
func (d *protocol) Error(r Refusal) (status int, header http.Header, body []byte) {
	if status = cmp.Or(statuses[r.Reason], http.StatusBadRequest); r.Reason == OverBudget {
		status = cmp.Or(d.OverBudget, status)
	}
	header = http.Header{"Content-Type": {"application/json"}}
	retry := ""
	switch {
	case r.Reason == RateLimited && r.RetryAfter > 0:
		header.Set("Retry-After", strconv.Itoa(r.RetryAfter))
		retry = fmt.Sprintf(`,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ds"}]`, r.RetryAfter)
	case r.Reason != RateLimited && r.Reason != Unreachable:
		header.Set("X-Should-Retry", "false")
	}
	text := strings.NewReplacer(
		"{status}", strconv.Itoa(status), "{text}", jsontoken.Quote(r.Text), "{retry}", retry,
		"{type}", jsontoken.Quote(cmp.Or(d.Errors[r.Reason], d.Errors[BadRequest])), "{code}", jsontoken.Quote(cmp.Or(d.Codes[r.Reason], string(r.Reason))),
	).Replace(d.table.Error)
	return status, header, []byte(text + "\n")
}

//go:embed openai.jsonc anthropic.jsonc gemini.jsonc
var tables embed.FS

// table is what a dialect has in common with the others, with its own values. Its file is JSON
// with comments.
type table struct {
	BaseURL   string `json:"base_url"`
	KeyPrefix string `json:"key_prefix"`
	// Variables are the values of Dialect.Variables with {endpoint} and {key}.
	Variables map[string]string `json:"variables"`
	// KeyHeaders are the headers that may hold the key. KeyQuery is the parameter that may hold
	// it, or "". SetKey is the header in which a key is sent and its value with {key}, by the
	// prefix of the key; "" is for the others.
	KeyHeaders []string             `json:"key_headers"`
	KeyQuery   string               `json:"key_query"`
	SetKey     map[string][2]string `json:"set_key"`
	// Headers are forwarded. A trailing * matches any suffix.
	Headers []string `json:"headers"`
	// Endpoints are the paths that are always forwarded, by method and path. Guarded are prefixes
	// of the paths that need an ability.
	Endpoints map[string]*endpoint `json:"endpoints"`
	Guarded   map[string]*endpoint `json:"guarded"`
	// Error is the body of an error with {status}, {text}, {type}, {code} and {retry}. Errors are
	// the types; a missing one is that of BadRequest. Codes are additional codes of some errors.
	// OverBudget is the status of OverBudget if it differs from statuses.
	Error      string            `json:"error"`
	Errors     map[Reason]string `json:"errors"`
	Codes      map[Reason]string `json:"codes"`
	OverBudget int               `json:"over_budget"`
	// Camel makes the reader accept names in camel case and with underscores, as readers of
	// protocol buffers do.
	Camel bool `json:"camel"`
	// ImageTokens is the maximum for one image. ExtraTokens is the maximum that the provider adds
	// to a request, such as the text that explains tools.
	ImageTokens int64 `json:"image_tokens"`
	ExtraTokens int64 `json:"extra_tokens"`
	// Canons make requests canonical, by the operations in the name; "" is for the others.
	Canons map[string]*canon `json:"canons"`
	// Reports find the usage in responses, by the operations in the name; "" is for the others.
	Reports map[string]*report `json:"reports"`
	// Tokens are the members with which a kind of server is asked for token ids and
	// log-probabilities, by the operations in the name.
	Tokens map[string]map[string]map[string]json.RawMessage `json:"tokens"`
	// Shapes are named parts of bodies, for all dialects.
	Shapes map[string]json.RawMessage `json:"shapes"`
}

// ofOperation returns the value for an operation.
func ofOperation[T any](all map[string]T, operation Operation) T {
	for operations, one := range all {
		if slices.Contains(strings.Fields(operations), string(operation)) {
			return one
		}
	}
	return all[""]
}

// endpoint is one of a provider's paths.
type endpoint struct {
	Operation Operation `json:"operation"`
	// Body is the name of the body's shape, or "" if there is none.
	Body string `json:"body"`
	// Query are the allowed query parameters.
	Query []string `json:"query"`
	Free  bool     `json:"free"`
	// Ability is the ability that the endpoint itself needs. Bodies of such an endpoint are not
	// checked, since they may be files.
	Ability   Ability `json:"ability"`
	Unmetered bool    `json:"unmetered"`

	body shape
}

// comment is a line of a table that is none of its JSON.
var comment = pattern.New(`(?m)^ *//.*$`)

// readTables fills in the tables. It panics on a mistake in them.
func readTables(list []*protocol) {
	shapes := &shapeReader{texts: map[string]json.RawMessage{}, made: map[string]*reference{}}
	for _, d := range list {
		text, err := tables.ReadFile(d.name + ".jsonc")
		in := json.NewDecoder(bytes.NewReader(comment.Regexp().ReplaceAll(text, nil)))
		in.DisallowUnknownFields()
		if err = cmp.Or(err, in.Decode(&d.table)); err != nil {
			panic(fmt.Sprintf("%s.jsonc: %v", d.name, err))
		}
		maps.Copy(shapes.texts, d.Shapes)
	}
	for _, d := range list {
		for _, e := range d.Endpoints {
			if e.Body != "" {
				e.body = shapes.named(e.Body)
			}
		}
	}
}

// shapeReader makes shapes of their texts:
//
//	"NAME"                                the shape of that name
//	"needs ABILITY"                       see needs
//	"offers ABILITY TOOL [MEMBER]"        see offers
//	"words ABILITY STRING..."             see words
//	"any without NAME..."                 see freeBut
//	[SHAPE]                               a list
//	{"text or": SHAPE}                    see around
//	{"needs ABILITY without NAME": SHAPE} see demands
//	{"by type": {"TYPE...": SHAPE}}       see kinds
//	{"NAME...": SHAPE, "+": [NAME...]}    an object with these members, and those of other objects
type shapeReader struct {
	texts map[string]json.RawMessage
	made  map[string]*reference
}

// reference is a named shape. Its text is read after it was made, since shapes can contain
// themselves.
type reference struct{ shape }

// around are shapes around others.
var around = map[string]func(shape) shape{
	"text or":     func(s shape) shape { return either(text, anything, s) },
	"link or":     func(s shape) shape { return either(text, link, s) },
	"one or list": oneOrList, "hidden": hiding,
}

func (r *shapeReader) named(name string) shape {
	if s, ok := plainShapes[name]; ok {
		return s
	}
	made, ok := r.made[name]
	if !ok {
		made = &reference{}
		r.made[name] = made
		made.shape = r.read(r.texts[name])
	}
	return made
}

func (r *shapeReader) read(text json.RawMessage) shape {
	var phrase string
	var items []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(text, &phrase) == nil:
		return r.phrase(strings.Fields(phrase))
	case json.Unmarshal(text, &items) == nil:
		return list{r.read(items[0])}
	case json.Unmarshal(text, &members) != nil:
		panic(fmt.Sprintf("no shape: %q", text))
	}
	for phrase, of := range members {
		words := strings.Fields(phrase)
		switch {
		case around[phrase] != nil:
			return around[phrase](r.read(of))
		case phrase == "by type":
			return kinds(r.each(of))
		case len(words) == 4 && words[0] == "needs" && words[2] == "without":
			return demands(Ability(words[1]), words[3], r.read(of))
		}
	}
	f := fields(r.each(text))
	var others []string
	_ = json.Unmarshal(members["+"], &others)
	for _, name := range others {
		for member, s := range r.named(name).(*reference).shape.(fields) {
			if f[member] == nil {
				f[member] = s
			}
		}
	}
	return f
}

// phrase makes a shape of its words.
func (r *shapeReader) phrase(phrase []string) shape {
	switch verb := phrase[0]; {
	case len(phrase) == 1:
		return r.named(verb)
	case verb == "needs":
		return needs(Ability(phrase[1]))
	case verb == "offers":
		return offers(Ability(phrase[1]), Tool(phrase[2]), strings.Join(phrase[3:], ""))
	case verb == "words":
		return words(Ability(phrase[1]), phrase[2:]...)
	case verb == "any" && phrase[1] == "without":
		return freeBut(phrase[2:]...)
	}
	panic(fmt.Sprintf("no shape: %q", phrase))
}

// each returns the shapes of the members of an object by their names, of which a member may have
// several.
func (r *shapeReader) each(text json.RawMessage) map[string]shape {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err)
	}
	all := map[string]shape{}
	for names, of := range members {
		if names == "+" {
			continue
		}
		s := r.read(of)
		for name := range strings.SplitSeq(names, " ") {
			if all[name] != nil {
				panic(fmt.Sprintf("the member %q is twice in %s", name, text))
			}
			all[name] = s
		}
	}
	return all
}
