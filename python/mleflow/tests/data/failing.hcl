# An agent that submits nothing, on one competition.

mleflow { extends = "mlebench.hcl" }

variable "set" { default = "leaf-classification" }
variable "agent" { default = "idle" }
variable "runtime" { default = "process" }

agent "idle" { command = ["true"] }
