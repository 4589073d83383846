# MLE-bench Lite: the 22 competitions of low complexity, on which agents are
# commonly compared. From the raw data to a leaderboard.
#
#   mleflow apply pipelines/lite.hcl
#
# mlebench.hcl has the steps and says what else can be asked for.

mleflow {
  extends = "mlebench.hcl"
}

variable "set" {
  default = "low"
}

variable "title" {
  default = "MLE-bench Lite"
}
