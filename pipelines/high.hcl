# The 15 competitions of high complexity. From the raw data to a leaderboard.
#
#   mleflow apply pipelines/high.hcl
#
# mlebench.hcl has the steps and says what else can be asked for.

mleflow {
  extends = "mlebench.hcl"
}

variable "set" {
  default = "high"
}

variable "title" {
  default = "MLE-bench, high complexity"
}
