# An agent that submits the sample and goes on for a while, with graded snapshots.

agent "early" {
  command = ["sh", "-c", "cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv; sleep 2.5"]
}

step "download" "raw" { competition = "demo-digits" }

step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}

step "agent-run" "solve" {
  agent          = agent.early
  competition    = "demo-digits"
  seed           = 7
  data           = step.prepare.data.public
  task           = "own"
  timeout        = "1m"
  runtime        = "process"
  snapshot_every = "1s"
}

step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  snapshots   = step.agent-run.solve.snapshots
  answers     = step.prepare.data.private
  labels      = { agent = "early", seed = "7" }
}
