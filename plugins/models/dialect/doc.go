// Package dialect understands the protocols in which agents speak to language
// models: those of OpenAI (and compatible servers), Anthropic and Gemini.
//
// # Vocabulary
//
//   - A Dialect is one provider's protocol: its paths, its keys, its errors, and
//     where usage is reported.
//   - A Request is one call as the dialect understands it: the operation, the
//     model, bounds of its tokens, and the body that is forwarded.
//   - A Grant is a provider-side ability, such as web search, that the pipeline
//     allows. Without one, a request that could use the ability is refused.
//   - Usage is the token usage that a response reports.
//
// # Invariants
//
// A body is forwarded byte for byte unless Request.Changed lists a change.
// Unknown input is refused wherever it could let the provider act beyond the
// model itself: unknown paths, unknown types of tools, unknown fields that name
// addresses or files. Known and harmless input is listed, one table per dialect
// in its NAME.jsonc. Nothing is guessed.
//
// # One reading
//
// The gateway understands a request exactly as the provider does, or refuses
// it. A body is JSON in UTF-8 without a byte order mark, nested at most 200
// levels deep, with at most a million values and nothing after it. No name
// occurs twice in an object (escapes decoded, and with Gemini in either
// spelling). It is sent as application/json. Paths have no escapes and no
// dotted segments. Unlisted query parameters are refused and unlisted headers
// are dropped.
//
// # Bounds
//
// A token has at least one byte, and the text that providers add to messages
// and tools is shorter than their JSON. The size of the body therefore bounds
// the tokens of its text. An image counts the maximum in the provider's
// documentation, not its bytes. Other media and the results of an ability have
// no bound in the body; see Request.Hidden.
//
// # Canonical forms
//
// A canonical form has the members of an object sorted by name, numbers as they
// came, no null, and neither optional spaces nor optional escapes. It leaves
// out
//
//   - details about the caller: user, safety_identifier,
//     metadata, client_metadata, labels, service_tier, store, and the names that
//     servers such as LiteLLM and vLLM give to requests and sessions,
//   - settings of caches and streams: prompt_cache_key, prompt_cache_retention,
//     prompt_cache_options, prompt_cache_breakpoint, cache_control,
//     stream_options, include,
//   - metadata that Codex adds to items, and content that only the provider can read: encrypted_content, signature,
//     thoughtSignature, extra_content, citations, and the id and status of items
//     of OpenAI's responses,
//   - the checksum in the first line of Claude Code.
//
// IDs of tool calls become id-1, id-2 … in order of appearance. Schemas,
// arguments and results of tools are kept unchanged. Times and paths are kept;
// package transcript decides whether they matter.
//
// The package opens no connection and keeps no state.
package dialect
