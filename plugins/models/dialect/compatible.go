package dialect

// compatible are the fields that OpenAI-compatible servers add to its requests,
// according to the documentation of vLLM, SGLang, llama.cpp, Ollama,
// OpenRouter, LiteLLM and the services of model makers. The first group
// controls the model's output or the report about it. None of its fields makes
// the server fetch, search, run or remember something, or use another model.
var compatible = settings(
	// sampling
	"top_k min_p top_a typical_p typical tfs_z top_n_sigma repetition_penalty repeat_penalty repeat_last_n penalize_nl length_penalty min_tokens ignore_eos "+
		"no_repeat_ngram_size dynatemp_range dynatemp_exponent xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta mirostat_mode mirostat_lr "+
		"dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers samplers min_keep use_beam_search early_stopping do_sample random_seed "+
		"adaptive_target adaptive_decay "+
		// stopping
		"n_predict stop_token_ids stop_regex include_stop_str_in_output no_stop_trim bad_words allowed_token_ids t_max_predict_ms n_indent "+
		// output format
		"guided_regex guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern regex ebnf grammar grammar_lazy grammar_root structural_tag "+
		// the prompt
		"add_generation_prompt continue_final_message add_special_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens "+
		"prompt_truncate_len context_length_exceeded_behavior transforms safe_prompt prompt_mode n_keep n_discard echo suffix "+
		// thinking
		"enable_thinking disable_reasoning thinking_budget thinking_token_budget reasoning_effort reasoning_format reasoning_split reasoning_in_content "+
		"thinking_forced_open include_reasoning separate_reasoning stream_reasoning preserve_thinking think clear_thinking "+
		// reporting
		"logprobs top_logprobs prompt_logprobs n_probs post_sampling_probs return_tokens return_token_ids return_tokens_as_token_ids return_hidden_states "+
		"return_progress return_cached_tokens_details timings_per_token perf_metrics_in_response raw_output incremental_output result_format "+
		"tool_stream parallel_tool_calls parse_tool_calls disable_tool_validation mask_sensitive_info "+
		// caches and queues
		"cache_prompt cache_salt id_slot priority keep_alive ttl prompt_cache_isolation_key extra_key speculative.n_max speculative.n_min speculative.p_min "+
		// request identifiers
		"request_id rid session_id user_id trace_id litellm_session_id litellm_trace_id litellm_call_id "+
		// LiteLLM's own settings
		"timeout stream_timeout num_retries max_retries drop_params additional_drop_params allowed_openai_params caching mock_response disable_fallbacks no-log "+
		"merge_reasoning_content_in_choices",
).and(fields{
	"guided_json": anything, "json_schema": anything, "structured_outputs": anything, "grammar_triggers": anything, "trace": anything, "cache_control": anything,
	"chat_template_kwargs": templateArgs, "chat_template_args": templateArgs,
	"documents": list(settings("id title text content contents snippet")),
	"thinking":  fields{"type": scalar, "budget_tokens": scalar, "clear_thinking": scalar, "keep": scalar, "display": scalar},
	"reasoning": fields{"effort": scalar, "max_tokens": scalar, "exclude": scalar, "enabled": scalar, "summary": scalar, "generate_summary": scalar},
	"usage":     fields{"include": scalar}, "cache": settings("ttl s-maxage no-cache no-store use-cache"),
	"options": settings("num_ctx num_keep seed top_k top_p min_p temperature repeat_last_n repeat_penalty presence_penalty frequency_penalty stop " +
		"num_batch num_gpu num_thread main_gpu use_mmap mirostat mirostat_tau mirostat_eta tfs_z typical_p penalize_newline numa"),
	"nvext": settings("guided_regex guided_choice guided_grammar top_k repetition_penalty ignore_eos").and(fields{"guided_json": anything}),
	// Only the model's context window bounds the tokens of these images and
	// media.
	"mm_processor_kwargs": hiding(anything), "media_io_kwargs": hiding(anything), "vl_high_resolution_images": hiding(scalar),
	// Some of the servers of a model charge more than others.
	"provider": settings("allow_fallbacks require_parameters data_collection zdr enforce_distillable_text").and(
		fields{"max_price": anything}, asking(Premium, "order only ignore sort quantizations preferred_min_throughput preferred_max_latency")),
	"extra_body": fields{"google": googleExtra}, "google": googleExtra,
	// provider-side features
	"plugins": needs(UnknownFields), "mcp_servers": needs(MCP),
	"custom_logit_processor": needs(CodeInterpreter), "logits_processors": needs(CodeInterpreter), "enable_code_interpreter": needs(CodeInterpreter),
	"enable_search": offers(WebSearch, WebSearchTool, ""), "search_parameters": offers(WebSearch, WebSearchTool, ""),
	"search_options": offers(WebSearch, WebSearchTool, ""), "search_settings": offers(WebSearch, WebSearchTool, ""),
}, asking(FileSearch, "data_sources vector_store_ids"), asking(ServerState, "session_params deferred prompt_id prompt_variables"), asking(OtherModels,
	"models route fallbacks context_window_fallbacks content_policy_fallbacks model_list user_config api_base base_url custom_llm_provider "+
		"draft_model safety_model lora lora_path lora_request adapter_id"))

// templateArgs are arguments of a chat template. The excluded ones could
// replace the template or the conversation by an input of any length.
var templateArgs = freeBut("chat_template", "conversation", "messages", "tools", "documents", "tokenize", "tokenizer_kwargs")

// googleExtra are the fields that Gemini adds to OpenAI's.
var googleExtra = fields{
	"thinking_config": settings("thinking_budget thinking_level include_thoughts"), "thought_tag_marker": scalar, "safety_settings": list(settings("category threshold")),
	"cached_content": needs(ServerState),
}

// thinkingBlocks are thoughts of Anthropic's models in the form in which
// LiteLLM returns and accepts them.
var thinkingBlocks = list(kinds{"thinking": anthropicThought, "redacted_thinking": anthropicThought})

// echoed are the fields that LiteLLM adds to the messages and calls of a
// response. LiteLLM may copy them into its own requests if a client sends them
// back.
var echoed = settings("refusal reasoning reasoning_content thought_signature thought_signatures signature stop_reason stop_sequence finish_reason native_finish_reason index").and(
	fields{"thinking_blocks": thinkingBlocks, "citations": anything, "annotations": anything, "caller": anything})
