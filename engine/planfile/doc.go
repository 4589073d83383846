// Package planfile reads, writes and compares saved plans: what plan --out writes and
// apply FILE runs. A saved plan is JSON:
//
//	{
//	  "mleflow_plan": 1,
//	  "digest": "…",
//	  "version": "0.2.0",
//	  "pipeline": "lite.hcl",
//	  "variables": { "seeds": "3" },
//	  "options": { "targets": ["step.grade.score"] },
//	  "files": { "lite.hcl": "…", "agents/mine.py": "…" },
//	  "steps": [ { "address": "step.prepare.data", "action": "run", "action_id": "…" } ]
//	}
//
// It is a pin and no order: whoever applies it plans the pipeline again, with these
// variables and options, and refuses what differs. So a file that somebody edited or
// forged makes nothing run that the pipeline does not say. It names the pipeline by a
// path below the working directory, and all else relative to the pipeline.
//
// It holds no value of a sensitive variable and no content of a file. The package runs
// nothing.
package planfile
