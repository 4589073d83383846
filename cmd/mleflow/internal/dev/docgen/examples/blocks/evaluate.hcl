evaluate "agents" {
  agents     = ["mine", "baseline"]
  over       = step.grade.score
  decide     = "any_medal"
  difference = 5
  confidence = 0.95
  budget     = 400
}
