metric  = "answer_spans"
id      = "example_id"
targets = ["PredictionString"]
truth   = ["annotations"]
align   = "position"
require { columns = ["example_id", "PredictionString"] }
