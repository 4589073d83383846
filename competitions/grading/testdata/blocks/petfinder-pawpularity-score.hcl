metric  = "rmse"
id      = "Id"
targets = ["Pawpularity"]
require {
  columns  = ["Id", "Pawpularity"]
  between  = [1, 100]
  same_ids = true
}
