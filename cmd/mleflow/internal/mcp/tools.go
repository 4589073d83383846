package mcp

// A tool is a command that clients can call.
type tool struct {
	name, command string
	// args are the command's arguments in order, by their names in parameters. One that
	// ends in "?" may be missing.
	args []string
	// flags are the command's flags that a client may set; required those that it must.
	flags, required []string
	// fixed are flags that are always set.
	fixed []string
	// about is what the command's own help does not say.
	about string

	// acts means that it starts, steers or ends something, or runs code of a file.
	acts bool
	// ends means that what it ends is not there afterwards.
	ends bool
	// once means that a second call with the same arguments has no effect.
	once bool
	// files means that it reads a file that the client names.
	files bool
	// prints means that the command prints text, not JSON.
	prints bool
}

// tools are all tools.
var tools = []tool{
	{name: "validate", command: "validate", args: []string{"file?"}, flags: []string{"var"}, files: true},
	{name: "plan", command: "plan", args: []string{"file?"}, flags: []string{"var", "target", "force", "retry", "attempt"}, files: true},
	{name: "explain", command: "explain", args: []string{"file?", "address"}, flags: []string{"var"}, files: true},
	{name: "runs", command: "runs", flags: []string{"limit", "name", "tag"}},
	{name: "run_show", command: "show", args: []string{"run?"}},
	{name: "wait", command: "wait", args: []string{"run"}, flags: []string{"timeout"}, about: "Set timeout, such as 50s, below the limit that your client has for a call, and call again while exit_status is 7."},
	{name: "attempts", command: "attempts list", args: []string{"run?"}, about: "The first place to look when an attempt failed; then read its logs and transcript."},
	{name: "logs", command: "logs", args: []string{"run", "address"}, flags: []string{"attempt"}, fixed: []string{"--raw"}, prints: true},
	{name: "transcript", command: "logs", args: []string{"run", "address"}, flags: []string{"full"}, fixed: []string{"--transcript"}, prints: true, about: "Print an attempt's exchanges with its models, with tokens, cost and time."},
	{name: "leaderboard", command: "leaderboard", args: []string{"runs"}, flags: []string{"agent", "split", "class", "version", "at"}},
	{name: "compare", command: "leaderboard", args: []string{"runs"}, flags: []string{"split", "class", "version"}, required: []string{"agent", "against-agent"}, about: "Compare two agents of the runs: by medals, by differences with intervals, and by a test."},
	{name: "diff", command: "diff", args: []string{"before", "after"}},
	{name: "competition_lint", command: "competition lint", args: []string{"ids?"}, flags: []string{"dir", "data-dir"}, files: true},

	{name: "competition_test", command: "competition test", args: []string{"ids?"}, flags: []string{"dir", "data-dir"}, files: true, acts: true, once: true, about: "It runs the competition's grader."},
	{name: "rehearse", command: "rehearse", args: []string{"file?"}, flags: []string{"var", "target", "timeout"}, files: true, acts: true, once: true, about: "It runs the pipeline's agents on small data, and returns when they have ended."},
	{name: "apply", command: "apply", args: []string{"file?"}, flags: []string{"var", "target", "retry", "attempt", "rerun", "keep-going", "parallelism", "locked", "name", "note", "tag"}, fixed: []string{"--detach"}, files: true, acts: true, about: "It returns the run's id when the run has begun; the tool wait follows it. Attempts can cost money: call plan first."},
	{name: "runs_set", command: "runs set", args: []string{"run?", "settings"}, acts: true, once: true},
	{name: "runs_drain", command: "runs drain", args: []string{"run?"}, flags: []string{"reason"}, acts: true, once: true},
	{name: "runs_pause", command: "runs pause", args: []string{"run?"}, acts: true, once: true},
	{name: "runs_continue", command: "runs continue", args: []string{"run?"}, fixed: []string{"--detach"}, acts: true, once: true},
	{name: "attempts_stop", command: "attempts stop", args: []string{"keys"}, flags: []string{"run", "reason"}, acts: true, ends: true, once: true},
	{name: "attempts_cancel", command: "attempts cancel", args: []string{"keys"}, flags: []string{"run", "reason"}, acts: true, ends: true, once: true},
	{name: "attempts_requeue", command: "attempts requeue", args: []string{"keys"}, flags: []string{"run", "reason"}, acts: true, ends: true},
	{name: "attempts_extend", command: "attempts extend", args: []string{"keys"}, flags: []string{"by", "budget", "run", "reason"}, acts: true},
}

// parameter is an argument of several commands.
type parameter struct {
	about string
	// pattern is the syntax of a value, or "" for any.
	pattern string
	many    bool
}

// runID is the syntax of a run: no path, which commands that take runs and files would read.
const runID = `^(latest(~[0-9]{1,6})?|[0-9]{8}T[0-9]{6}Z[-0-9a-zA-Z_]{0,40})$`

const runAbout = "The run: an id of the tool runs, latest, or latest~1 for the one before"

// parameters are the arguments of commands.
var parameters = map[string]parameter{
	"file":     {about: "The pipeline's file, an absolute path or one below the server's folder; without it pipeline.hcl there"},
	"address":  {about: `The step's address, such as step.agent-run.solve["digits/0"]`},
	"run":      {about: runAbout, pattern: runID},
	"before":   {about: runAbout, pattern: runID},
	"after":    {about: runAbout, pattern: runID},
	"runs":     {about: runAbout, pattern: runID, many: true},
	"keys":     {about: "The attempts: agent/competition/seed, with * for any, or addresses", many: true},
	"ids":      {about: "The competitions' ids; without any all", pattern: `^[a-z0-9][a-z0-9._-]*$`, many: true},
	"settings": {about: "What to change: parallelism=4, gpus=2, budget=100USD or deadline=2026-12-01T08:00", pattern: `^[a-z_]+=[^\s]+$`, many: true},
}
