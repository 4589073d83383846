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
// The package reads and judges; it opens no connection and keeps no state.
package dialect
