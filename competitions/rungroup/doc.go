// Package rungroup reads and writes run groups: the folders in which MLE-bench
// keeps what an agent left.
//
// # The layout
//
//	<runs>/run_group_experiments.csv          experiment_id,run_group
//	<runs>/<group>/metadata.json              {"run_group", "created_at", "runs": {"<run>": {"success"}}}
//	<runs>/<group>/<run>/submission/submission.csv
//	<runs>/<group>/<run>/logs, code           what the agent left there
//	<runs>/<group>/<run>/run.log              what it printed
//	<runs>/<group>/…grading_report….json
//
// A run is called <competition>_<unique>, a group that the reference made
// <time>_run-group_<agent>. The order of the runs in the metadata is that of the
// reports, and so decides which run belongs to which seed.
//
// # Invariants
//
//   - What a group says is somebody else's: a name that leads out of the group is
//     an error, and a submission that is a link out of its run is not read.
//   - Every run of the metadata is an entry to grade, as in the reference, with
//     the way it ended as far as the files say.
//   - What is written, the reference's own scripts read; what goes beyond is in
//     fields that they pass over.
package rungroup
