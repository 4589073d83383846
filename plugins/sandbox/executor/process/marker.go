package process

// MarkerVariable is the one variable that the runtime adds to the command's
// environment. Its value is random and names the run.
const MarkerVariable = "MLEFLOW_TASK"
