package dialect

// OpenAI's operations.
const (
	ChatCompletions Operation = "chat.completions"
	Completions     Operation = "completions"
	Responses       Operation = "responses"
	ResponseTokens  Operation = "responses.input_tokens"
	Compact         Operation = "responses.compact"
	Embeddings      Operation = "embeddings"
	Models          Operation = "models"
	Raw             Operation = "raw"
)

// openAIEndpoints are the paths that are always forwarded. openAIBehind are
// prefixes of the paths that need an ability. Sources of both tables: the types
// of OpenAI's client library for Python 3.54, which are generated from its
// OpenAPI document, and the documentation of vLLM, llama.cpp, OpenRouter and
// LiteLLM for the fields that compatible servers add.
var (
	openAIEndpoints = map[string]endpoint{
		"POST /v1/chat/completions":       {operation: ChatCompletions, body: openAIChat},
		"POST /v1/completions":            {operation: Completions, body: openAICompletion},
		"POST /v1/responses":              {operation: Responses, body: openAIResponse},
		"POST /v1/responses/input_tokens": {operation: ResponseTokens, body: openAIResponse, free: true},
		"POST /v1/responses/compact":      {operation: Compact, body: openAIResponse},
		"POST /v1/embeddings":             {operation: Embeddings, body: openAIEmbedding},
		"GET /v1/models":                  {operation: Models, free: true, query: []string{"client_version"}},
	}
	openAIBehind = map[string]endpoint{
		"/v1/files":         {ability: Files, free: true},
		"/v1/uploads":       {ability: Files, free: true},
		"/v1/batches":       {ability: Batch, unmetered: true},
		"/v1/fine_tuning":   {ability: FineTuning, unmetered: true},
		"/v1/vector_stores": {ability: FileSearch, unmetered: true},
		"/v1/containers":    {ability: CodeInterpreter, unmetered: true},
		"/v1/responses":     {ability: ServerState, free: true},
		"/v1/conversations": {ability: ServerState, free: true},
	}
)

// openAIModels are substrings of the names of models that search the web
// unasked.
var openAIModels = []string{"search-preview", "search-api", "deep-research", ":online", "sonar", "compound"}

// openAISampling are the sampling settings of all servers.
var openAISampling = fields{
	"model": scalar, "stream": scalar, "temperature": scalar, "top_p": scalar, "frequency_penalty": scalar,
	"presence_penalty": scalar, "seed": scalar, "stop": scalars, "logit_bias": anything, "n": scalar,
	"best_of": scalar, "max_tokens": scalar, "user": scalar, "store": scalar, "metadata": anything,
	"service_tier": words(Premium, "auto", "default", "flex", "scale", "standard", "on_demand"), "safety_identifier": scalar,
	"prompt_cache_key": scalar, "prompt_cache_retention": scalar,
	"prompt_cache_options": fields{"mode": scalar, "ttl": scalar},
	"stream_options":       fields{"include_usage": scalar, "include_obfuscation": scalar, "continuous_usage_stats": scalar},
	"verbosity":            scalar,
}.and(compatible)

var openAIChat = openAISampling.and(fields{
	"messages":              list(openAIMessage),
	"max_completion_tokens": scalar,
	"prediction":            fields{"type": scalar, "content": textOr(list(openAIPart))},
	"response_format":       kinds{"text": anything, "json_object": anything, "json_schema": anything, "regex": anything, "grammar": anything, "structural_tag": anything},
	"tools":                 list(openAIChatTool),
	"tool_choice": textOr(kinds{
		"function": anything, "custom": anything, "allowed_tools": anything,
		"auto": anything, "any": anything, "none": anything, "required": anything, "tool": anything, // as in Anthropic's dialect
	}),
	"functions":     list(fields{"name": scalar, "description": scalar, "parameters": anything, "strict": scalar}),
	"function_call": textOr(fields{"name": scalar}),
	// provider-side features
	"web_search_options": offers(WebSearch, WebSearchTool, ""),
	"modalities":         list(words(Audio, "text", "TEXT")),
	"audio":              needs(Audio),
	"moderation":         needs(OtherModels),
})

var openAIChatTool = kinds{
	"": openAIChatFunction, "function": openAIChatFunction,
	"custom": fields{"type": scalar, "custom": fields{"name": scalar, "description": scalar, "format": anything}},
}

var openAIChatFunction = fields{
	"type": scalar, "strict": scalar, "cache_control": anything, "defer_loading": scalar, "allowed_callers": scalars, "input_examples": anything,
	"function": fields{
		"name": scalar, "description": scalar, "parameters": anything, "strict": scalar, "cache_control": anything, "defer_loading": scalar,
		"input_examples": anything, "response": anything, "return": anything,
	},
}

var openAIMessage = fields{
	"role": scalar, "name": scalar, "content": textOr(list(openAIPart)), "refusal": scalar, "tool_call_id": scalar,
	"tool_calls": list(kinds{
		"":         openAICall,
		"function": openAICall,
		"custom":   fields{"id": scalar, "type": scalar, "index": scalar, "custom": fields{"name": scalar, "input": scalar}},
	}),
	"function_call": fields{"name": scalar, "arguments": scalar},
	"audio":         needs(ServerState),
	// parts of a response that clients send back
	"annotations": anything, "reasoning": scalar, "reasoning_content": scalar, "reasoning_details": anything, "prefix": scalar, "cache_control": anything,
	"extra_content": anything, "parsed": anything, "thinking_blocks": thinkingBlocks, "provider_specific_fields": echoed,
}.and(settings("id index finish_reason stop_reason thinking reasoning_text reasoning_opaque reasoning_signature signature thought_signature partial tool_name is_error"))

var openAICall = fields{
	"id": scalar, "type": scalar, "index": scalar, "extra_content": anything, "caller": anything, "signature": scalar, "thought_signature": scalar,
	"provider_specific_fields": echoed,
	"function":                 fields{"name": scalar, "arguments": scalar, "parsed_arguments": anything, "provider_specific_fields": echoed},
}

var openAIPart = kinds{
	"text":              fields{"type": scalar, "text": scalar, "prompt_cache_breakpoint": anything, "cache_control": anything, "annotations": anything, "id": scalar, "index": scalar},
	"refusal":           fields{"type": scalar, "refusal": scalar},
	"thinking":          fields{"type": scalar, "thinking": textOr(list(fields{"type": scalar, "text": scalar})), "signature": scalar, "closed": scalar, "index": scalar, "cache_control": anything},
	"redacted_thinking": anthropicThought,
	"image_url": fields{"type": scalar, "image_url": linkOr(fields{"url": link, "detail": scalar, "format": scalar}), "prompt_cache_breakpoint": anything, "cache_control": anything,
		"min_pixels": hiding(scalar), "max_pixels": hiding(scalar), "uuid": needs(ServerState)},
	"video_url":   fields{"type": scalar, "video_url": linkOr(fields{"url": link})},
	"input_audio": needs(Audio),
	"file":        fields{"type": scalar, "file": fields{"file_data": filedata, "file_id": needs(Files), "filename": scalar}, "prompt_cache_breakpoint": anything},
}

var openAICompletion = openAISampling.and(fields{
	"prompt": oneOrList(scalars), "suffix": scalar, "echo": scalar, "logprobs": scalar,
})

var openAIEmbedding = fields{
	"model": scalar, "input": oneOrList(scalars), "dimensions": scalar, "encoding_format": scalar, "user": scalar,
	"metadata": anything,
}.and(settings("truncate_prompt_tokens truncate truncation input_type task instruction late_chunking normalize normalized embedding_type output_dimension output_dtype " +
	"add_special_tokens priority keep_alive request_id timeout caching"))

var openAIResponse = fields{
	"model": scalar, "stream": scalar, "input": textOr(list(openAIItem)), "instructions": scalar, "max_output_tokens": scalar,
	"max_tool_calls": scalar, "metadata": anything, "client_metadata": anything, "parallel_tool_calls": scalar,
	"prompt_cache_key": scalar, "prompt_cache_retention": scalar, "prompt_cache_options": fields{"mode": scalar, "ttl": scalar},
	"reasoning":         fields{"context": scalar, "effort": scalar, "generate_summary": scalar, "summary": scalar, "mode": words(Premium, "standard")},
	"safety_identifier": scalar, "service_tier": words(Premium, "auto", "default", "flex", "scale"), "store": scalar,
	"stream_options": fields{"include_obfuscation": scalar}, "temperature": scalar, "top_p": scalar, "top_logprobs": scalar,
	"text": fields{"format": kinds{"text": anything, "json_object": anything, "json_schema": anything}, "verbosity": scalar},
	"tool_choice": textOr(kinds{
		"function": anything, "custom": anything, "allowed_tools": anything, "apply_patch": anything, "shell": anything,
		"computer": anything, "computer_use": anything, "computer_use_preview": anything, "local_shell": anything,
		"web_search*": needs(WebSearch), "file_search": needs(FileSearch), "code_interpreter": needs(CodeInterpreter),
		"mcp": needs(MCP), "image_generation": needs(ImageGeneration), "programmatic_tool_calling": needs(CodeInterpreter),
	}),
	"tools": list(openAITool), "truncation": scalar, "user": scalar, "include": scalars, "image": fields{"context_compression": scalar},
	// provider-side features
	"background": needs(ServerState), "background_options": needs(ServerState), "conversation": needs(ServerState),
	"previous_response_id": needs(ServerState), "prompt": needs(ServerState), "context_management": needs(Compaction),
	"moderation": needs(OtherModels),
}.and(compatible)

var openAITool = kinds{
	"function": openAIFunction, "custom": openAIFunction, "local_shell": openAIFunction, "apply_patch": openAIFunction,
	"computer":             fields{"type": scalar},
	"computer_use_preview": fields{"type": scalar, "display_width": scalar, "display_height": scalar, "environment": scalar},
	"namespace":            fields{"type": scalar, "name": scalar, "description": scalar, "tools": list(kinds{"function": openAIFunction, "custom": openAIFunction})},
	"shell":                demands(CodeInterpreter, "environment", fields{"type": scalar, "allowed_callers": anything, "environment": openAIShell}),
	"tool_search":          demands(ToolSearch, "execution", fields{"type": scalar, "description": scalar, "parameters": anything, "execution": words(ToolSearch, "client")}),
	// provider-side tools
	"web_search*": offers(WebSearch, WebSearchTool, ""), "file_search": offers(FileSearch, FileSearchTool, ""),
	"code_interpreter": offers(CodeInterpreter, CodeTool, ""), "image_generation": offers(ImageGeneration, ImageTool, ""), "mcp": needs(MCP), "programmatic_tool_calling": offers(CodeInterpreter, CodeTool, ""),
}

var openAIShell = kinds{
	"local":               fields{"type": scalar, "skills": anything},
	"container_auto":      offers(CodeInterpreter, CodeTool, ""),
	"container_reference": offers(CodeInterpreter, CodeTool, ""),
}

// openAIFunction is a tool that the client itself runs.
var openAIFunction = fields{
	"type": scalar, "name": scalar, "description": scalar, "parameters": anything, "strict": scalar, "format": anything,
	"allowed_callers": scalars, "async": scalar, "defer_loading": scalar, "output_schema": anything,
}

var openAIContent = kinds{
	"input_text":  fields{"type": scalar, "text": scalar, "prompt_cache_breakpoint": anything},
	"output_text": fields{"type": scalar, "text": scalar, "annotations": anything, "logprobs": anything, "parsed": anything, "id": scalar, "index": scalar},
	"text":        fields{"type": scalar, "text": scalar},
	"refusal":     fields{"type": scalar, "refusal": scalar},
	"input_image": fields{"type": scalar, "detail": scalar, "image_url": link, "file_id": needs(Files), "prompt_cache_breakpoint": anything},
	"input_file":  fields{"type": scalar, "detail": scalar, "file_data": filedata, "file_url": needs(RemoteFiles), "file_id": needs(Files), "filename": scalar, "prompt_cache_breakpoint": anything},
	"input_audio": needs(Audio),
}

// openAIClientCall is a call of a tool that the client ran itself.
var openAIClientCall = fields{
	"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "name": scalar, "namespace": scalar, "arguments": scalar, "async": scalar,
	"input": scalar, "caller": anything, "action": anything, "actions": anything, "operation": anything, "pending_safety_checks": anything,
	"parsed_arguments": anything, "created_by": scalar, "index": scalar,
}

// openAIOpaque is an earlier part of the conversation that only the provider
// can read.
var openAIOpaque = hiding(fields{"type": scalar, "id": scalar, "encrypted_content": scalar, codexMetadata: anything})

var openAIOutput = fields{
	"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "name": scalar, "namespace": scalar, "caller": anything,
	"output": textOr(list(openAIContent)),
}

var openAISay = fields{"type": scalar, "id": scalar, "role": scalar, "status": scalar, "phase": scalar, "content": textOr(list(openAIContent))}

// codexMetadata is a member of the items that Codex sends to OpenAI's own
// endpoint. It says when and why the client made the item.
const codexMetadata = "internal_chat_message_metadata_passthrough"

// openAIItem is an item of the input, with the metadata of Codex or without.
var openAIItem = itemKinds.with(codexMetadata, anything)

var itemKinds = kinds{
	"": openAISay, "message": openAISay,
	"reasoning":               fields{"type": scalar, "id": scalar, "status": scalar, "summary": anything, "content": anything, "encrypted_content": scalar, "format": scalar, "signature": scalar, "index": scalar},
	"function_call":           openAIClientCall,
	"custom_tool_call":        openAIClientCall,
	"local_shell_call":        openAIClientCall,
	"apply_patch_call":        openAIClientCall,
	"computer_call":           openAIClientCall,
	"shell_call":              fields{"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "action": anything, "caller": anything, "environment": openAIShell},
	"function_call_output":    openAIOutput,
	"custom_tool_call_output": openAIOutput,
	"local_shell_call_output": openAIOutput,
	"apply_patch_call_output": openAIOutput,
	"shell_call_output":       fields{"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "caller": anything, "max_output_length": scalar, "output": anything},
	"computer_call_output":    fields{"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "acknowledged_safety_checks": anything, "output": fields{"type": scalar, "image_url": link, "file_id": needs(Files)}},
	"tool_search_call":        fields{"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "arguments": anything, "execution": words(ToolSearch, "client")},
	"tool_search_output":      fields{"type": scalar, "id": scalar, "call_id": scalar, "status": scalar, "tools": list(openAITool), "execution": words(ToolSearch, "client")},
	"additional_tools":        fields{"type": scalar, "id": scalar, "role": scalar, "tools": list(openAITool)},
	"configuration_update":    fields{"type": scalar, "id": scalar, "reasoning": fields{"effort": scalar}, "text": fields{"format": anything}},
	"compaction":              openAIOpaque,
	"compaction_summary":      openAIOpaque,
	// traces of provider-side features in the history
	"web_search_call": needs(WebSearch), "file_search_call": needs(FileSearch), "code_interpreter_call": needs(CodeInterpreter),
	"image_generation_call": needs(ImageGeneration), "mcp_*": needs(MCP), "item_reference": needs(ServerState),
	"compaction_trigger": needs(Compaction), "program": needs(CodeInterpreter), "program_output": needs(CodeInterpreter),
}
