//go:build linux

// Command rogue is an agent for tests: it tries to find what it must not know,
// to outlive its limits, or to be a well-behaved agent that takes its time.
// It is one static program and runs in an image that holds nothing else. It is
// no part of the product.
//
//	rogue steal         run every probe and write LOGS_DIR/probes.jsonl
//	rogue resist MODE   break a limit and refuse to die
//	rogue work SECONDS  submit the same bytes whenever it runs
//	rogue train SECONDS read the data, ask a model and write code, again and again
//	rogue victim        keep a secret while others look for it
//
// # Canaries
//
// A canary is a text that the tests plant where no agent may read:
// "mleflow-canary-", what it is, "-" and 26 random letters and digits. The
// program knows the form and no canary. It knows the competition's answers by
// their form, too: lines of the numbers in test.csv and a label.
package main
