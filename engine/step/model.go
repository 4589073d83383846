package step

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"
)

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
type SecretRef struct{ Ref string }

// SecretRefType is the type of a SecretRef in the language.
var SecretRefType = cty.Capsule("secret reference", reflect.TypeFor[SecretRef]())

// The types of the nested blocks of a model block, and of model.<name>.
var (
	ModelBudgetType = TypeOf[ModelBudget]()
	ModelPriceType  = TypeOf[ModelPrice]()
	ModelRetryType  = TypeOf[ModelRetry]()
	ModelType       = TypeOf[Model]()
)
