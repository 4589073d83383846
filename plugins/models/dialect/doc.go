// Package dialect knows the protocols in which agents speak to language models:
// those of OpenAI (and servers compatible with it), Anthropic and Gemini.
//
// # Vocabulary
//
//   - A Dialect is one provider's protocol: its paths, its keys, its errors, and
//     where usage is reported.
//   - A Request is one call as the dialect understands it: the operation, the
//     model, bounds of its tokens, and the body that is forwarded.
//   - A Grant is a provider-side ability, such as web search, that the pipeline
//     allows. Without one, a request that could use the ability is refused.
//   - Usage is what a response reports of tokens.
//
// # Invariants
//
// A body is forwarded as it came, byte for byte, unless Request.Changed says
// what was changed. Whatever a dialect does not know is refused where it could
// let the provider act beyond the model itself: unknown paths, unknown types of
// tools, unknown fields that name addresses or files. What is known and harmless
// is listed, one table per dialect in its file; nothing is guessed.
//
// # One reading
//
// What the gateway understands is what the provider understands, or the request
// is refused. A body is JSON in UTF-8 without a byte order mark, nested at most
// 200 levels, of at most a million values, with no name twice in an object
// (escapes decoded, and with Gemini in either spelling) and nothing after it. It
// is sent as application/json. Paths have no escapes and no dotted segments;
// query parameters and headers that are not listed are refused or left behind.
//
// # Bounds
//
// A token has at least one byte, and what providers add to messages and tools is
// shorter than their JSON, so the size of the body bounds the tokens of its text.
// An image counts what the documentation names as the most, not its bytes. Other
// media, and what an ability finds, have no bound in the body: Request.Hidden.
//
// # Canonical forms
//
// A canonical form has the names of an object in order, numbers as they came,
// no null, and neither spaces nor escapes of its own. It leaves out
//
//   - what tells the provider about the caller: user, safety_identifier,
//     metadata, client_metadata, labels, service_tier, store, and the names that
//     servers such as LiteLLM and vLLM give to requests and sessions,
//   - what steers caches and streams: prompt_cache_key, prompt_cache_retention,
//     prompt_cache_options, prompt_cache_breakpoint, cache_control,
//     stream_options, include,
//   - what only the provider can read: encrypted_content, signature,
//     thoughtSignature, extra_content, citations, and the id and status of items
//     of OpenAI's responses,
//   - the checksum in the first line of Claude Code.
//
// IDs of tool calls become id-1, id-2 …, by the order of their appearance.
// Schemas, arguments and results of tools stay whole: there, nothing is left out
// and nothing renamed. Times and paths stay; package transcript decides about
// them.
//
// The package reads and judges; it opens no connection and keeps no state.
package dialect
