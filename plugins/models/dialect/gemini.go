package dialect

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// Gemini's operations.
const (
	GenerateContent       Operation = "generateContent"
	StreamGenerateContent Operation = "streamGenerateContent"
	GeminiCountTokens     Operation = "countTokens"
	EmbedContent          Operation = "embedContent"
	BatchEmbedContents    Operation = "batchEmbedContents"
)

// geminiMethods are the methods of a model. geminiBehind are prefixes, below
// the version, of the endpoints that need an ability. Source of both tables:
// the converters of Google's client library google-genai 3.4 for the Gemini
// Developer API. Names are in camel case. The provider accepts underscores too,
// and so does this package.
var (
	geminiVersions = []string{"/v1beta/", "/v1/", "/v1alpha/"}
	geminiMethods  = map[string]endpoint{
		"generateContent":       {operation: GenerateContent, body: geminiGenerate},
		"streamGenerateContent": {operation: StreamGenerateContent, body: geminiGenerate},
		"countTokens":           {operation: GeminiCountTokens, body: geminiCount, free: true},
		"embedContent":          {operation: EmbedContent, body: geminiEmbed},
		"batchEmbedContents":    {operation: BatchEmbedContents, body: fields{"model": scalar, "requests": list(geminiEmbed)}},
	}
	geminiBehind = map[string]endpoint{
		"files":            {ability: Files, free: true},
		"batches":          {ability: Batch, unmetered: true},
		"tunedModels":      {ability: FineTuning, unmetered: true},
		"cachedContents":   {ability: ServerState, unmetered: true},
		"fileSearchStores": {ability: FileSearch, unmetered: true},
		"corpora":          {ability: FileSearch, unmetered: true},
	}
)

var geminiGenerate = fields{
	"model": scalar, "contents": oneOrList(geminiContent), "systemInstruction": geminiContent, "safetySettings": list(settings("category threshold method")),
	"generationConfig": geminiConfig, "labels": anything, "store": scalar, "serviceTier": words(Premium, "SERVICE_TIER_UNSPECIFIED", "STANDARD", "standard", "FLEX", "flex"),
	"tools": list(geminiTool),
	"toolConfig": fields{
		"functionCallingConfig": fields{"mode": scalar, "allowedFunctionNames": scalars, "streamFunctionCallArguments": scalar},
		"retrievalConfig":       anything, "includeServerSideToolInvocations": scalar,
	},
	// provider-side features
	"cachedContent": needs(ServerState),
}

var geminiConfig = fields{
	"temperature": scalar, "topP": scalar, "topK": scalar, "candidateCount": scalar, "maxOutputTokens": scalar, "stopSequences": scalars,
	"responseLogprobs": scalar, "logprobs": scalar, "presencePenalty": scalar, "frequencyPenalty": scalar, "seed": scalar,
	"responseMimeType": scalar, "responseSchema": anything, "responseJsonSchema": anything, "_responseJsonSchema": anything,
	"mediaResolution": scalar, "enableEnhancedCivicAnswers": scalar, "audioTimestamp": scalar,
	"thinkingConfig":     fields{"includeThoughts": scalar, "thinkingBudget": scalar, "thinkingLevel": scalar},
	"responseModalities": list(words(ImageGeneration, "TEXT", "text", "MODALITY_UNSPECIFIED")),
	"imageConfig":        needs(ImageGeneration),
	"speechConfig":       needs(Audio),
	"routingConfig":      needs(OtherModels), "modelSelectionConfig": needs(OtherModels), "modelConfig": needs(OtherModels),
}

var geminiSearch = offers(WebSearch, WebSearchTool, "")

// geminiTool has one member for each kind of tool.
var geminiTool = fields{
	"functionDeclarations": list(fields{
		"name": scalar, "description": scalar, "parameters": anything, "parametersJsonSchema": anything, "response": anything,
		"responseJsonSchema": anything, "behavior": scalar,
	}),
	"computerUse": anything,
	// provider-side tools
	"googleSearch": geminiSearch, "googleSearchRetrieval": geminiSearch, "enterpriseWebSearch": geminiSearch, "googleMaps": offers(WebSearch, MapsTool, ""),
	"parallelAiSearch": geminiSearch, "exaAiSearch": geminiSearch, "urlContext": needs(WebFetch), "codeExecution": needs(CodeInterpreter),
	"fileSearch": needs(FileSearch), "retrieval": needs(FileSearch), "mcpServers": needs(MCP),
}

var geminiContent = fields{"role": scalar, "parts": oneOrList(geminiPart)}

var geminiPart = fields{
	"text": scalar, "thought": scalar, "thoughtSignature": scalar, "inlineData": geminiData{}, "mediaResolution": anything, "partMetadata": anything,
	"videoMetadata": fields{"startOffset": scalar, "endOffset": scalar, "fps": scalar},
	"functionCall":  fields{"id": scalar, "name": scalar, "args": anything, "partialArgs": anything, "willContinue": scalar},
	"functionResponse": fields{
		"id": scalar, "name": scalar, "response": anything, "willContinue": scalar, "scheduling": scalar,
		"parts": list(fields{"inlineData": geminiData{}, "fileData": needs(RemoteFiles)}),
	},
	// provider-side features, used now or in the history
	"fileData": needs(RemoteFiles), "executableCode": needs(CodeInterpreter), "codeExecutionResult": needs(CodeInterpreter),
}

var geminiCount = fields{"model": scalar, "contents": oneOrList(geminiContent), "generateContentRequest": geminiGenerate}

var geminiEmbed = fields{
	"model": scalar, "content": geminiContent, "taskType": scalar, "title": scalar, "outputDimensionality": scalar,
	"embedContentConfig": fields{"taskType": scalar, "title": scalar, "outputDimensionality": scalar, "autoTruncate": scalar},
}

// geminiData is a medium in the body with its type next to it.
type geminiData struct{}

func (geminiData) check(c *check, i int) *Refusal {
	kind := ""
	if t, ok := c.find(i, "mimeType"); ok {
		kind = strings.ToLower(c.text(t))
	}
	if strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/") {
		if r := c.need(Audio, kind); r != nil {
			return r
		}
	}
	data := otherMedia
	if strings.HasPrefix(kind, "image/") {
		data = image
	}
	return fields{"mimeType": scalar, "data": data, "displayName": scalar}.check(c, i)
}

// gemini is the dialect of Google's Gemini Developer API.
type gemini struct{ rules }

func newGemini() *gemini {
	return &gemini{rules{
		name: "gemini", baseURL: "https://generativelanguage.googleapis.com",
		errors: map[Reason]string{
			BadKey: "UNAUTHENTICATED", BadRequest: "INVALID_ARGUMENT", NotAllowed: "PERMISSION_DENIED", TooLarge: "INVALID_ARGUMENT",
			RateLimited: "RESOURCE_EXHAUSTED", OverBudget: "RESOURCE_EXHAUSTED", Unreachable: "UNAVAILABLE", NoRecording: "ABORTED",
		},
		headers:    []string{"Accept", "User-Agent", "X-Goog-Api-Client", "X-Server-Timeout"},
		keyHeaders: []string{"X-Goog-Api-Key", "Authorization"}, keyQuery: "key",
		camel: true,
		// An image counts 258 tokens for each tile of 768 by 768 pixels, or at
		// most 2,240 if its resolution is set. The number of tiles has no
		// documented limit, so the bound is that of an image of 16,000 by 9,000
		// pixels.
		imageTokens: 65000,
		extraTokens: 1000,
	}}
}

// Variables implements Dialect.
func (*gemini) Variables(endpoint, key string) map[string]string {
	return map[string]string{"GOOGLE_GEMINI_BASE_URL": endpoint, "GEMINI_API_KEY": key, "GOOGLE_API_KEY": key}
}

// SetKey implements Dialect.
func (*gemini) SetKey(header http.Header, query url.Values, key string) {
	dropKeys(header, query)
	header.Set("X-Goog-Api-Key", key)
}

// Read implements Dialect.
func (g *gemini) Read(in Incoming, grants Grants) (*Request, error) {
	e, model, err := g.endpoint(in.Method, in.Path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"alt", "$alt"} {
		// Clients of Google's older libraries request enumerations as numbers.
		if alt := in.Query.Get(name); alt != "" && alt != "json" && alt != "sse" && alt != "json;enum-encoding=int" {
			return nil, badRequest("the query parameter %s is %.50q; it must be json or sse", name, alt)
		}
	}
	c, r, err := g.read(e, in, grants)
	if err != nil {
		return nil, err
	}
	r.Model, r.Stream = model, e.operation == StreamGenerateContent
	if c == nil {
		return r, nil
	}
	if err := g.sameModel(c, r); err != nil {
		return nil, err
	}
	return r, g.bounds(c, r)
}

func (*gemini) endpoint(method, path string) (*endpoint, string, error) {
	if !plainPath(path) {
		return nil, "", noEndpoint(method, path)
	}
	rest, ok := "", false
	for _, v := range geminiVersions {
		if !ok {
			rest, ok = strings.CutPrefix(path, v)
		}
	}
	upload, isUpload := strings.CutPrefix(path, "/upload/v1beta/")
	if isUpload {
		rest, ok = upload, true
	}
	if !ok {
		return nil, "", noEndpoint(method, path)
	}
	name, isModel := strings.CutPrefix(rest, "models/")
	model, verb, isCall := strings.Cut(name, ":")
	switch {
	case isUpload:
	case rest == "models" && method == http.MethodGet:
		return &endpoint{method: method, operation: Models, free: true, query: []string{"alt", "pageSize", "pageToken"}}, "", nil
	case isModel && !strings.Contains(name, "/") && !isCall && method == http.MethodGet:
		return &endpoint{method: method, operation: Models, free: true, query: []string{"alt"}}, name, nil
	case isModel && !strings.Contains(name, "/") && isCall && method == http.MethodPost:
		if e, ok := geminiMethods[verb]; ok {
			e.method, e.query = method, []string{"alt", "$alt"}
			return &e, model, nil
		}
	}
	return behind(geminiBehind, method, rest)
}

// sameModel refuses a body that names a different model than the path.
func (*gemini) sameModel(c *check, r *Request) error {
	at := []int{0}
	if requests, ok := c.find(0, "requests"); ok {
		for i := range c.children(requests) {
			at = append(at, i)
		}
	}
	if inner, ok := c.find(0, "generateContentRequest"); ok {
		at = append(at, inner)
	}
	for _, i := range at {
		m, ok := c.find(i, "model")
		if ok && strings.TrimPrefix(c.text(m), "models/") != r.Model {
			return badRequest("the body names the model %.100s, the path %s", c.bytes(m), r.Model)
		}
	}
	return nil
}

func (*gemini) bounds(c *check, r *Request) (err error) {
	if r.Operation == EmbedContent || r.Operation == BatchEmbedContents {
		r.Choices = 0
		return nil
	}
	config, ok := c.find(0, "generationConfig")
	if !ok {
		return nil
	}
	if r.OutputTokens, err = c.limit(config, "maxOutputTokens"); err != nil {
		return err
	}
	choices, err := c.limit(config, "candidateCount")
	if err != nil {
		return err
	}
	r.Choices = max(1, choices)
	if thinking, ok := c.find(config, "thinkingConfig"); ok && r.OutputTokens > 0 {
		budget, err := c.limit(thinking, "thinkingBudget")
		if err != nil {
			return err
		}
		r.OutputTokens += budget
	}
	return nil
}

// Error implements Dialect.
func (g *gemini) Error(r Refusal) (int, http.Header, []byte) {
	status, kind := g.failure(r.Reason)
	details := ""
	if r.Reason == RateLimited && r.RetryAfter > 0 {
		details = fmt.Sprintf(`,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ds"}]`, r.RetryAfter)
	}
	return status, errorHeader(r), compact(`{"error":{"code":`, strconv.Itoa(status), `,"message":`, jsontoken.Quote(r.Text), `,"status":`, jsontoken.Quote(kind), details, `}}`)
}
