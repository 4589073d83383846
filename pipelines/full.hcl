# MLE-bench: all 75 competitions. From the raw data to a leaderboard, with the
# figures of each complexity and of all.
#
#   mleflow apply pipelines/full.hcl
#
# mlebench.hcl has the steps and says what else can be asked for.

mleflow {
  extends = "mlebench.hcl"
}
