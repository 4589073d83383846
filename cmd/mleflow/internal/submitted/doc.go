// Package submitted is what the process of a submitted pipeline knows of being one: the
// place where its server left it, and the rules that it must keep. The pipeline is a
// stranger's, and the process has the rights of the server. So the pipeline may read its
// own folder and nothing else of the machine, may name only secrets that the server's
// administrator allows, and runs code only isolated.
//
// A process is one of a submission if Variable is in its environment, which only the
// server sets; nothing in a pipeline and no flag ends the rules.
package submitted
