package process

// MarkerVariable is the only variable that the runtime adds to the command's
// environment apart from those for devices. Its value is random and identifies the run.
const MarkerVariable = "MLEFLOW_TASK"
