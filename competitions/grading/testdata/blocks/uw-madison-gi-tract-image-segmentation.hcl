metric  = "dice_hausdorff"
params  = { height = "image_height", width = "image_width" }
id      = "id"
targets = ["predicted"]
cells   = "filled"
align   = "position"
require { columns = ["id", "class", "predicted"] }
