// Package aide tests agents that are made and run as their users do: an image
// is built by a step, the agent in it asks a language model through the proxy
// for code, runs it in its container and submits, and the pipeline grades it.
//
// The model is a stand-in (modeltest) that speaks OpenAI's protocol and answers
// with real code. TestModelAgent does all of that with a shell for an agent, in seconds.
// TestAIDE does it with pipelines/aide.hcl, that is with Debian's and Python's
// packages, which takes minutes and a network; it runs where MLEFLOW_TEST_AIDE is
// set:
//
//	MLEFLOW_TEST_AIDE=1 go test -v -run TestAIDE -timeout 60m ./cmd/mleflow/internal/e2e/aide
package aide
