package step

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"
)

// Model is a model block of the pipeline: a provider of language models, what
// an agent may ask of it, and at what cost. It decodes from a value of
// ModelType. What its words mean is known to the kinds that run agents; see
// Kind.CheckModel. Amounts of money and durations are as they are written; ""
// and 0 are what is not written.
type Model struct {
	Name     string `cty:"name"`
	Provider string `cty:"provider"`
	// BaseURL is the endpoint; the provider's own if it is empty.
	BaseURL string `cty:"base_url"`
	// Key is where the provider's key is.
	Key *SecretRef `cty:"key"`
	// Models are the patterns of the models that may be asked for, Tools the
	// abilities beyond running a model that are granted.
	Models []string `cty:"models"`
	Tools  []string `cty:"tools"`
	// Budget bounds one attempt, RunBudget all attempts of one apply together.
	Budget    ModelBudget `cty:"budget"`
	RunBudget ModelBudget `cty:"run_budget"`
	// Prices are by pattern; they go before those that the kind knows.
	Prices map[string]ModelPrice `cty:"prices"`
	Retry  ModelRetry            `cty:"retry"`
	// PauseClock says that the time that the provider made the agent wait is
	// given back.
	PauseClock bool `cty:"pause_clock"`
	// Replay are the recordings that answer in place of the provider, OnMiss
	// what happens to a request that has none: "fail" or "live".
	Replay []*Artifact `cty:"replay"`
	OnMiss string      `cty:"on_miss"`
}

// ModelBudget is the block budget or run_budget of a model block.
type ModelBudget struct {
	Cost       string `cty:"cost"`
	Tokens     int64  `cty:"tokens"`
	Requests   int64  `cty:"requests"`
	PerMinute  int    `cty:"per_minute"`
	Concurrent int    `cty:"concurrent"`
	// ToolCalls is how many calls of the provider's own tools are reserved for a
	// request that does not limit them.
	ToolCalls int64 `cty:"tool_calls_per_request"`
}

// ModelPrice is a price block of a model block: amounts of money for a million
// tokens, and the most tokens that one response has and that one request takes.
type ModelPrice struct {
	Input          string `cty:"input"`
	Output         string `cty:"output"`
	CacheRead      string `cty:"cache_read"`
	CacheWrite     string `cty:"cache_write"`
	CacheWriteHour string `cty:"cache_write_hour"`
	InputAudio     string `cty:"input_audio"`
	MaxOutput      int64  `cty:"max_output"`
	MaxInput       int64  `cty:"max_input"`
	// ToolCalls are for a thousand calls of the provider's own tools, ToolRequests
	// for a thousand requests that call the tool at all.
	ToolCalls    map[string]string `cty:"tool_calls"`
	ToolRequests map[string]string `cty:"tool_requests"`
}

// ModelRetry is the block retry of a model block.
type ModelRetry struct {
	Attempts int    `cty:"attempts"`
	Longest  string `cty:"longest"`
}

// SecretRef says where the value of a secret is, "env:NAME" for instance; "" is
// none. It is not part of a key: the place of a secret changes no result.
type SecretRef struct{ Ref string }

// SecretRefType is the type of a SecretRef in the language.
var SecretRefType = cty.Capsule("secret reference", reflect.TypeFor[SecretRef]())

// The types of the nested blocks of a model block, and of model.<name>.
var (
	ModelBudgetType = cty.Object(map[string]cty.Type{
		"cost": cty.String, "tokens": cty.Number, "requests": cty.Number, "per_minute": cty.Number, "concurrent": cty.Number,
		"tool_calls_per_request": cty.Number,
	})
	ModelPriceType = cty.Object(map[string]cty.Type{
		"input": cty.String, "output": cty.String, "cache_read": cty.String, "cache_write": cty.String, "cache_write_hour": cty.String,
		"input_audio": cty.String, "max_output": cty.Number, "max_input": cty.Number,
		"tool_calls": cty.Map(cty.String), "tool_requests": cty.Map(cty.String),
	})
	ModelRetryType = cty.Object(map[string]cty.Type{"attempts": cty.Number, "longest": cty.String})

	ModelType = cty.Object(map[string]cty.Type{
		"name": cty.String, "provider": cty.String, "base_url": cty.String, "key": SecretRefType,
		"models": cty.List(cty.String), "tools": cty.List(cty.String),
		"budget": ModelBudgetType, "run_budget": ModelBudgetType, "prices": cty.Map(ModelPriceType), "retry": ModelRetryType,
		"pause_clock": cty.Bool, "replay": cty.List(ArtifactType), "on_miss": cty.String,
	})
)
