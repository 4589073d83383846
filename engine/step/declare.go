package step

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// OneOf lists the allowed strings of arguments by their names; see Attr.OneOf.
type OneOf map[string][]string

// Attrs returns the arguments that the fields of a struct declare, in their order. Args.Decode
// fills in the same struct.
//
//	type arguments struct {
//		Competition string         `cty:"competition" is:"required" doc:"Identifier of the competition."`
//		Seed        int64          `cty:"seed" doc:"An integer."`
//		Salt        *step.Artifact `cty:"salt" doc:"Secret bytes."`
//		From        *string        `cty:"from" is:"cosmetic" doc:"A folder to read instead."`
//		Network     *network       `cty:"network" block:"What the agent may reach."`
//	}
//
// The type of an argument is TypeOf its field. The values of the struct are the defaults
// of what is not required: here seed has the default 0, and salt, which is nil, has none.
// The tag is has any of the words required, cosmetic, command, block, files, bycommand,
// setting and served, which are the fields of Attr. The tag open is Attr.Open. The tags made, when
// and passing are the fields of Attr.Made, and the tag group is Attr.Group. A field with the
// tag block is not an argument but a block; see Blocks. An embedded struct declares the
// arguments of one concern. A wrong tag panics, since it is a programming error.
func Attrs(defaults any, oneOf OneOf) (attrs []Attr) {
	v := reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("cty") != "" && f.Tag.Get("block") == "" {
			attrs = append(attrs, attrOf(f.Tag, v.FieldByIndex(f.Index), oneOf))
		}
	}
	return attrs
}

// Blocks returns the nested blocks that the fields of a struct declare; see Attrs. Such a
// field is a pointer to a struct that declares the block's arguments. The tag block is the
// block's documentation.
func Blocks(defaults any, oneOf OneOf) (blocks []Block) {
	v := reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("block") == "" {
			continue
		}
		inner := v.FieldByIndex(f.Index)
		if inner.IsNil() {
			inner = reflect.New(f.Type.Elem())
		}
		blocks = append(blocks, Block{Name: f.Tag.Get("cty"), Doc: f.Tag.Get("block"), Args: Attrs(inner.Elem().Interface(), oneOf), Group: f.Tag.Get("group")})
	}
	return blocks
}

// Document sets the documentation of the arguments, blocks and outputs that declare none.
// text has a paragraph for each: its name, a colon and the documentation, in lines of any
// length. Names read "seed", "network.allow" and "output stats".
func (k *Kind) Document(text string) {
	docs := map[string]string{}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		name, doc, _ := strings.Cut(strings.Join(strings.Fields(paragraph), " "), ": ")
		docs[name] = doc
	}
	set := func(doc *string, name string) { *doc = cmp.Or(*doc, docs[name]) }
	for i := range k.Args {
		set(&k.Args[i].Doc, k.Args[i].Name)
	}
	for i := range k.Outputs {
		set(&k.Outputs[i].Doc, "output "+k.Outputs[i].Name)
	}
	for _, b := range k.Blocks {
		for i := range b.Args {
			set(&b.Args[i].Doc, b.Name+"."+b.Args[i].Name)
		}
	}
}

func attrOf(tag reflect.StructTag, value reflect.Value, oneOf OneOf) Attr {
	a := Attr{Name: tag.Get("cty"), Type: typeOf(value.Type()), Doc: tag.Get("doc"), OneOf: oneOf[tag.Get("cty")], Open: tag.Get("open"), Group: tag.Get("group")}
	words := map[string]*bool{
		"required": &a.Required, "cosmetic": &a.Cosmetic, "command": &a.Command, "block": &a.Block, "files": &a.Files,
		"bycommand": &a.ByCommand, "setting": &a.Setting, "served": &a.Served,
	}
	for word := range strings.FieldsSeq(tag.Get("is")) {
		if words[word] == nil {
			panic(fmt.Sprintf("argument %s: %q is not a word of the tag is", a.Name, word))
		}
		*words[word] = true
	}
	if kind := tag.Get("made"); kind != "" {
		a.Made = &Made{Kind: kind, When: tag.Get("when"), Args: strings.Fields(tag.Get("passing"))}
	}
	switch kind := value.Kind(); {
	case a.Required, kind == reflect.Struct:
	case (kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map) && value.IsNil():
	default:
		var err error
		if a.Default, err = gocty.ToCtyValue(value.Interface(), a.Type); err != nil {
			panic(fmt.Sprintf("argument %s: %v", a.Name, err))
		}
	}
	return a
}

// TypeOf returns the type in the language of a Go type. A struct other than Artifact and
// SecretRef is an object. Its attributes are the fields with a cty tag, or else a json
// tag, which has the name. A field with the tag optional:"true" may be missing from a
// value that is converted to the type. TypeOf panics if a field has no type in the
// language, which is a programming error.
func TypeOf[T any]() cty.Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type) cty.Type {
	switch t {
	case ArtifactType.EncapsulatedType():
		return ArtifactType
	case SecretRefType.EncapsulatedType():
		return SecretRefType
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Slice:
		return cty.List(typeOf(t.Elem()))
	case reflect.Map:
		return cty.Map(typeOf(t.Elem()))
	case reflect.Struct:
		return objectOf(t)
	}
	ty, err := gocty.ImpliedType(reflect.Zero(t).Interface())
	if err != nil {
		panic(err)
	}
	return ty
}

func objectOf(t reflect.Type) cty.Type {
	attrs, optional := map[string]cty.Type{}, []string(nil)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("cty"), f.Tag.Get("json")), ",")
		if name == "" || name == "-" {
			continue
		}
		attrs[name] = typeOf(f.Type)
		if f.Tag.Get("optional") == "true" {
			optional = append(optional, name)
		}
	}
	return cty.ObjectWithOptionalAttrs(attrs, optional)
}

// Agent is an agent block of the pipeline: the agent that solves a competition.
// It is decoded from a value of AgentType. Secrets are references, never
// values.
type Agent struct {
	Name string `cty:"name"`
	// Image is an OCI image: a digest, an archive or a layout. It is empty for
	// the process runtime.
	Image string `cty:"image"`
	// Built is the image if it is an OCI archive made by another step, and nil
	// otherwise. The argument image accepts both.
	Built *Artifact `cty:"built"`
	// Command and Args are the command line. Command[0] may be "mleflow", which
	// stands for the running binary.
	Command []string `cty:"command"`
	Args    []string `cty:"args"`
	// Files are copied into the folder in which the command runs, by their
	// paths there. "." is the folder itself.
	Files map[string]*Artifact `cty:"files"`
	// Env is the environment by variable name.
	Env map[string]string `cty:"env"`
	// Models are the model blocks that it may use, the main one first.
	Models []Model `cty:"models"`
	// Secrets maps environment variables to the sources of their values:
	// "env:NAME", "file:PATH" or "command:LINE". SecretsIn has the folders of the files
	// that name them; see SecretRef.Dir. It is not part of the key.
	Secrets   map[string]string `cty:"secrets"`
	SecretsIn map[string]string `cty:"secrets_in"`
	// Python is the output of another step with the packages of the agent's
	// Python, or nil if there are none. Venv is the path of this machine's
	// environment with these packages, if the agent can see it. Venv is not
	// part of the key, because Python lists its content.
	Python *Artifact `cty:"python"`
	Venv   string    `cty:"venv"`
}

// AgentType is the type of agent.<name> in the language.
var AgentType = TypeOf[Agent]()

// Benchmark is a benchmark block of the pipeline: a set of competitions with the rule by
// which agents are ranked over it. It is decoded from a value of BenchmarkType. The engine
// does not know the rules; see config.Options.
type Benchmark struct {
	Name         string   `cty:"name" json:"name"`
	Competitions []string `cty:"competitions" json:"competitions"`
	Aggregate    string   `cty:"aggregate" json:"aggregate"`
	// Sample and Best are scores by competition that replace those of its definition.
	Sample map[string]float64 `cty:"sample" optional:"true" json:"sample,omitempty"`
	Best   map[string]float64 `cty:"best" optional:"true" json:"best,omitempty"`
}

// BenchmarkType is the type of benchmark.<name> in the language.
var BenchmarkType = TypeOf[Benchmark]()

// Model is a model block of the pipeline: a provider of language models, the
// requests that an agent may make, and their costs. It is decoded from a value
// of ModelType. The kinds that run agents interpret its words; see
// Kind.CheckModel. Amounts of money and durations are kept as written. "" and 0
// stand for missing arguments.
type Model struct {
	Name     string `cty:"name"`
	Provider string `cty:"provider"`
	// BaseURL is the endpoint. If it is empty, the provider's own is used.
	BaseURL string `cty:"base_url"`
	// Key is the location of the provider's key.
	Key *SecretRef `cty:"key"`
	// Models are patterns of the allowed models. Tools are the granted
	// abilities beyond running a model.
	Models []string `cty:"models"`
	Tools  []string `cty:"tools"`
	// Budget limits one attempt. RunBudget limits all attempts of one apply
	// together.
	Budget    ModelBudget `cty:"budget"`
	RunBudget ModelBudget `cty:"run_budget"`
	// Prices are prices by pattern. They take precedence over those that the
	// kind knows.
	Prices map[string]ModelPrice `cty:"prices"`
	Retry  ModelRetry            `cty:"retry"`
	// PauseClock extends the agent's time limit by the time that the provider
	// kept it waiting.
	PauseClock bool `cty:"pause_clock"`
	// Replay are the recordings that answer in place of the provider. OnMiss is
	// the reaction to a request without a recording: "fail" or "live".
	Replay []*Artifact `cty:"replay"`
	OnMiss string      `cty:"on_miss"`
	// RecordTokens is the kind of server that is asked for token ids and
	// log-probabilities, which the agent does not see.
	RecordTokens string `cty:"record_tokens"`
}

// ModelBudget is the block budget or run_budget of a model block.
type ModelBudget struct {
	Cost       string `cty:"cost"`
	Tokens     int64  `cty:"tokens"`
	Requests   int64  `cty:"requests"`
	PerMinute  int    `cty:"per_minute"`
	Concurrent int    `cty:"concurrent"`
	// ToolCalls is the number of provider-side tool calls reserved for a
	// request that does not limit them.
	ToolCalls int64 `cty:"tool_calls_per_request"`
}

// ModelPrice is a price block of a model block: prices per million tokens, and
// the maximum number of tokens of a response and of a request.
type ModelPrice struct {
	Input          string `cty:"input" is:"required"`
	Output         string `cty:"output" is:"required"`
	CacheRead      string `cty:"cache_read"`
	CacheWrite     string `cty:"cache_write"`
	CacheWriteHour string `cty:"cache_write_hour"`
	InputAudio     string `cty:"input_audio"`
	MaxOutput      int64  `cty:"max_output"`
	MaxInput       int64  `cty:"max_input"`
	// ToolCalls are the prices of a thousand provider-side tool calls.
	// ToolRequests are the prices of a thousand requests that call the tool at
	// all.
	ToolCalls    map[string]string `cty:"tool_calls"`
	ToolRequests map[string]string `cty:"tool_requests"`
}

// ModelRetry is the block retry of a model block.
type ModelRetry struct {
	Attempts int    `cty:"attempts"`
	Longest  string `cty:"longest"`
}

// SecretRef is the location of a secret's value, such as "env:NAME", or "" for
// none. It is not part of a key, because the location does not affect results.
type SecretRef struct {
	Ref string
	// Dir is the folder of the file that names it, relative to the pipeline's. Relative
	// paths start there.
	Dir string `json:",omitempty"`
}

// Parse returns the reference.
func (r SecretRef) Parse() (secret.Ref, error) {
	ref, err := secret.ParseRef(r.Ref)
	return ref.From(r.Dir), err
}

// Secret returns the reference to a secret of the agent.
func (a Agent) Secret(name string) (secret.Ref, error) {
	return SecretRef{a.Secrets[name], a.SecretsIn[name]}.Parse()
}

// SecretRefType is the type of a SecretRef in the language.
var SecretRefType = cty.Capsule("secret reference", reflect.TypeFor[SecretRef]())

// The types of the nested blocks of a model block, and of model.<name>.
var (
	ModelBudgetType = TypeOf[ModelBudget]()
	ModelPriceType  = TypeOf[ModelPrice]()
	ModelRetryType  = TypeOf[ModelRetry]()
	ModelType       = TypeOf[Model]()
)
