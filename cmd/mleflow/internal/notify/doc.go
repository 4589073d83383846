// Package notify tells people what happens in a run: by services such as Slack, mail or a
// webhook, or by a command of theirs.
//
// Receivers are defined in the user's configuration (File). A pipeline can only name them,
// so that a stranger's can neither start a command nor choose an address. What is told
// follows from the events of a run, in words of the program; the text of agents, logs and
// clusters is left out unless the user asks for it. A receiver gets one message a minute
// at most of each kind.
//
// Every message is sent by a process of its own (Command), which is killed after a time: a
// receiver that hangs, answers without end or makes a library panic costs the run nothing.
// The address reaches it on standard input.
package notify
