# What an erratum is worth: competitions with known defects, once as published
# (v1) and once corrected (v2), in one run. v1 does not change; steps that both
# versions share, such as the download, run once.
#
#   mleflow competition show random-acts-of-pizza           what is wrong, and who reported it
#   mleflow plan  pipelines/versions.hcl                    what would run, and why
#   mleflow apply pipelines/versions.hcl -var raw=downloads takes downloads/<id>/, or downloads/<id>.zip

mleflow {
  required_version = ">= 0.1"
}

variable "agent" {
  type        = string
  default     = "dummy"
  description = "Name of the agent block to evaluate."
}

variable "competitions" {
  type        = list(string)
  description = "Competitions that have a version v2."
  default = [
    "3d-object-detection-for-autonomous-vehicles", "aerial-cactus-identification", "cassava-leaf-disease-classification",
    "champs-scalar-coupling", "google-quest-challenge", "h-and-m-personalized-fashion-recommendations",
    "hms-harmful-brain-activity-classification", "hubmap-kidney-segmentation", "icecube-neutrinos-in-deep-ice",
    "inaturalist-2019-fgvc6", "jigsaw-toxic-comment-classification-challenge", "learning-agency-lab-automated-essay-scoring-2",
    "multi-modal-gesture-recognition", "osic-pulmonary-fibrosis-progression", "random-acts-of-pizza",
    "ranzcr-clip-catheter-line-classification", "siim-isic-melanoma-classification", "smartphone-decimeter-2022",
    "stanford-covid-vaccine", "tabular-playground-series-dec-2021", "tabular-playground-series-may-2022",
    "tensorflow-speech-recognition-challenge", "tgs-salt-identification-challenge",
    "vinbigdata-chest-xray-abnormalities-detection",
  ]
}

variable "versions" {
  type        = list(string)
  default     = ["v1", "v2"]
  description = "Versions to run side by side."
}

variable "task" {
  type        = string
  default     = "reference"
  description = "The texts of the agent's task: reference (MLE-bench's, byte for byte), obfuscated (MLE-bench's variant, which names neither Kaggle nor the competition) or own (our short text, which needs no network; its scores cannot be compared with published ones)."
}

variable "seeds" {
  type        = number
  default     = 1
  description = "Number of attempts per competition, each with its own seed."
}

variable "raw" {
  type        = string
  default     = null
  description = "Folder that has, for each competition, a folder <id> (the unpacked download) or an archive <id>.zip; null downloads the data from Kaggle."
}

variable "params" {
  type        = map(map(string))
  default     = {}
  description = "Parameters of competitions, by competition and name."
}

variable "pins" {
  type        = map(string)
  default     = { icecube-neutrinos-in-deep-ice = "v2" }
  description = "Competitions whose versions are all checked against the pins of one version."
}

variable "on_mismatch" {
  type        = string
  default     = "fail"
  description = "What happens if prepared data do not match the competition's pins: fail, or warn (to try other data)."
}

locals {
  data = {
    for pair in setproduct(var.versions, var.competitions) :
    "${pair[0]}/${pair[1]}" => { version = pair[0], competition = pair[1] }
  }
  runs = {
    for run in setproduct(keys(local.data), range(var.seeds)) :
    "${run[0]}/${run[1]}" => merge(local.data[run[0]], { data = run[0], seed = run[1] })
  }
}

agent "dummy" {
  command = ["mleflow", "agent", "dummy"] # submits the sample submission
}

agent "baseline" {
  command = ["mleflow", "agent", "baseline"] # trains a small neural network on tables
}

# All versions have the same raw data.
step "download" "raw" {
  for_each    = toset(var.competitions)
  competition = each.key
  from        = var.raw == null ? null : "${var.raw}/${each.key}"
}

step "prepare" "data" {
  for_each    = local.data
  competition = each.value.competition
  version     = each.value.version
  raw         = step.download.raw[each.value.competition].tree
  params      = try(var.params[each.value.competition], {})
}

# The pins are those of v1; a version that is prepared differently has none,
# and passes with a note.
step "checksum" "data" {
  for_each    = local.data
  competition = each.value.competition
  version     = try(var.pins[each.value.competition], each.value.version)
  prepared    = step.prepare.data[each.key]
  on_mismatch = var.on_mismatch
}

# The ids of the answers and the rows that are scored, without a label, for the
# validity server.
step "sketch" "data" {
  for_each    = local.data
  competition = each.value.competition
  version     = each.value.version
  prepared    = step.checksum.data[each.key]
  params      = try(var.params[each.value.competition], {})
}

step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent[var.agent]
  competition = each.value.competition
  version     = each.value.version
  seed        = each.value.seed
  data        = step.checksum.data[each.value.data].public
  sketch      = step.sketch.data[each.value.data].sketch
  task        = var.task
  timeout     = "1h"

  resources {
    cpus   = 1
    memory = "256MiB"
  }
}

step "grade" "score" {
  for_each    = local.runs
  competition = each.value.competition
  version     = each.value.version
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data[each.value.data].private
  params      = try(var.params[each.value.competition], {})
  labels      = { agent = var.agent, seed = each.value.seed, version = each.value.version }
}

# A board for each version: scores of different versions are not comparable.
step "aggregate" "board" {
  for_each = toset(var.versions)
  reports  = [for key, run in local.runs : step.grade.score[key].report if run.version == each.key]
  title    = "Version ${each.key}"
}

output "leaderboards" {
  value       = join("\n", [for version in var.versions : step.aggregate.board[version].table])
  description = "The leaderboard of each version; competitions whose human leaderboard is crowded are marked in v2."
}
