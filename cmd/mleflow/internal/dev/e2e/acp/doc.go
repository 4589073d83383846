// Package acp holds the test in which agents that speak the Agent Client Protocol
// solve demo-digits with a stand-in for their provider. It installs packages of npm, and
// runs where MLEFLOW_TEST_ACP is set to 1, or to the absolute path of a folder for the
// packages:
//
//	MLEFLOW_TEST_ACP=1 go test -v ./cmd/mleflow/internal/dev/e2e/acp
package acp
