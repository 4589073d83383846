# The 38 competitions of medium complexity. From the raw data to a leaderboard.
#
#   mleflow apply pipelines/medium.hcl
#
# mlebench.hcl has the steps and says what else can be asked for.

mleflow {
  extends = "mlebench.hcl"
}

variable "set" {
  default = "medium"
}

variable "title" {
  default = "MLE-bench, medium complexity"
}
