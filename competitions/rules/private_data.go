package rules

import (
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

var privateData = Rule{
	Name:   "private-data",
	Doc:    "Paths of answers, other processes' environments, the cache, other attempts' folders and mleflow's records in code or commands; refused calls for answers or leaderboards.",
	Honest: "A harness may ask for the leaderboard; a refused call is a note.",
	begin: func(c *ruleCheck) visitor {
		return visitor{
			text: func(p location, text string) {
				if found := privatePath.Regexp().FindString(text); found != "" {
					c.warn(p, text, "It names %q, where answers or secrets are kept.", clip(found))
				}
			},
			shim: func(p location, r shim.Record) {
				if r.Kind == shim.Answers || r.Kind == shim.Leaderboard {
					c.note(p, r.Call, "Code asked for the %s at %s:%d, and the call was refused.", r.Kind, clip(r.File), r.Line)
				}
			},
		}
	},
}

// privatePath are places that no agent needs. The environment of the own process is
// everyone's.
var privatePath = pattern.New(`(^|[^\w.])/private(/[\w.-]+|/?["'\s]|/?$)|prepared/private\b|/proc/\d+/(environ|root|cwd|mem|fd)\b|/root/\.(ssh|kaggle|aws)|\.kaggle/kaggle\.json|[\w/]\.cache/mleflow\b|\bMLEFLOW_CACHE_DIR\b` +
	// The cache elsewhere, folders of other attempts, and records of an attempt.
	`|\bmleflow/(objects|kept|tmp|links|runs|records)\b|\b(kept/|wstep-)(\*|[\w-]+/host\b)|\bhost/(validation|network|shim|budget)\.jsonl\b`)
