# The development set: 7 competitions to try an agent on before it is measured,
# since none of them is part of MLE-bench. From the raw data to a leaderboard.
#
#   mleflow apply pipelines/dev.hcl
#
# mlebench.hcl has the steps and says what else can be asked for.

mleflow {
  extends = "mlebench.hcl"
}

variable "set" {
  default = "dev"
}

variable "title" {
  default = "Development set"
}

variable "seeds" {
  default = 1
}

variable "timeout" {
  default = "1h"
}
