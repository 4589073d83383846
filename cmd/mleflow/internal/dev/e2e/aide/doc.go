// Package aide tests agents that are made and run as their users do: an image
// is built by a step, the agent in it asks a language model for code, runs it in
// its container and submits, and the pipeline grades it.
//
// The model is a stand-in (modeltest) that speaks the providers' protocols and
// answers with real code. TestModelAgent does all of that with a shell for an
// agent that reaches the model by the network proxy, in seconds. TestAgents does
// it with the agents of pipelines/agents, that is with Debian's, Python's and
// npm's packages, and without a network: through the model gateway. It takes
// minutes, and runs where MLEFLOW_TEST_AGENTS is set to 1, or to the absolute path
// of a folder for the cache, in which the images stay:
//
//	MLEFLOW_TEST_AGENTS=1 go test -v -run TestAgents -timeout 60m ./cmd/mleflow/internal/dev/e2e/aide
//
// The agent mlab is fetched from GitHub; MLEFLOW_VAR_reference and MLEFLOW_VAR_mlab
// may name clones of MLE-bench and of its MLAgentBench instead.
package aide
