package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExcerpt reads what programs print when they end by a failure.
func TestExcerpt(t *testing.T) {
	for _, tt := range []struct{ name, printed, cause, shown string }{
		{"missing package", `loading data
Traceback (most recent call last):
  File "/home/agent.py", line 3, in <module>
    import lightgbm
ModuleNotFoundError: No module named 'lightgbm'
mleflow: outcome: agent_failed (exit status 1, 0.1 s, network none)`,
			"ModuleNotFoundError: No module named 'lightgbm'", `Traceback (most recent call last):
  File "/home/agent.py", line 3, in <module>
    import lightgbm
ModuleNotFoundError: No module named 'lightgbm'`},
		{"long, with marks, and chained", `Traceback (most recent call last):
  File "/home/agent.py", line 1, in <module>
    a()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/agent.py", line 1, in <module>
    main()
    ~~~~^^
  File "/home/agent.py", line 2, in main
    fit()
  File "/home/agent.py", line 3, in fit
    raise ValueError("no rows")
ValueError: no rows`,
			"ValueError: no rows", `Traceback (most recent call last):
  …
    fit()
  File "/home/agent.py", line 3, in fit
    raise ValueError("no rows")
ValueError: no rows`},
		{"syntax error", "  File \"/home/agent.py\", line 2\n    def f(\n         ^\nSyntaxError: '(' was never closed", "SyntaxError: '(' was never closed", "SyntaxError: '(' was never closed"},
		{"own exception, message on two lines", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nmodels.Overloaded: try again\nin a minute", "models.Overloaded: try again",
			"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nmodels.Overloaded: try again"},
		{"exception group", `  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 1, in <module>
  |     raise ExceptionGroup("several", [ValueError("one")])
  | ExceptionGroup: several (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: one
    +------------------------------------`, "ValueError: one", ""},
		{"progress after", "RuntimeError: CUDA out of memory\n 37%|███▋      | 37/100 [00:10<00:17,  3.70it/s]\n", "RuntimeError: CUDA out of memory", "RuntimeError: CUDA out of memory"},
		{"R", "Loading required package: stats\nError in library(xgboost) : there is no package called ‘xgboost’\nExecution halted", "Error in library(xgboost) : there is no package called ‘xgboost’", ""},
		{"R on two lines", "Error in f(1) :\n  no rows\nCalls: f\nExecution halted", "Error in f(1) : no rows", ""},
		{"node", "/home/a.js:1\nthrow new TypeError('no')\n^\n\nTypeError: no\n    at Object.<anonymous> (/home/a.js:1:7)\n\nNode.js v18.19.0", "TypeError: no", "TypeError: no"},
		{"go", "panic: runtime error: index out of range [3] with length 1\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2", "panic: runtime error: index out of range [3] with length 1", ""},
		{"shell", "train.sh: line 3: pytohn: command not found", "train.sh: line 3: pytohn: command not found", "train.sh: line 3: pytohn: command not found"},
		{"nothing known", "one\ntwo\n\nthree\nmleflow: outcome: agent_failed", "", "two\nthree"},
		{"nothing", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cause, shown := Excerpt(strings.Split(tt.printed, "\n"))
			if cause != tt.cause {
				t.Errorf("cause %q, want %q", cause, tt.cause)
			}
			if got := strings.Join(shown, "\n"); tt.shown != "" && got != tt.shown {
				t.Errorf("shown (-want +got):\n%s", cmp.Diff(tt.shown, got))
			}
		})
	}
	if a, b := alike("FileNotFoundError: '/home/data/7/train.csv' 0x7f01"), alike("FileNotFoundError: '/other/12/train.csv' 0xab"); a != b {
		t.Errorf("%q and %q", a, b)
	}
}
