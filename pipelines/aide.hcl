# AIDE on the demonstration competition demo-digits, or on those that you name: the
# agent of agents/aide.hcl with a snapshot of the submission every ten minutes. The
# agent reaches its model and nothing else; the key stays outside.
#
#   export OPENAI_API_KEY=…
#   mleflow plan  pipelines/aide.hcl
#   mleflow apply pipelines/aide.hcl -var set=leaf-classification -var task=reference
#
# Another server that speaks OpenAI's protocol:
#
#   mleflow apply pipelines/aide.hcl -var base_url=http://10.0.0.5:8000/v1 -var model=my-model \
#     -var 'prices={"my-model":{"input":"0 USD","output":"0 USD"}}'

mleflow {
  extends = "mlebench.hcl"
}

variable "agent" {
  default = "aide"
}

variable "set" {
  default = "demo-digits"
}

variable "task" {
  default = "own"
}

variable "seeds" {
  default = 1
}

variable "snapshot_every" {
  default = "10m"
}

variable "title" {
  default = "AIDE"
}
