package step

// Agent is an agent block of the pipeline: the agent that solves a competition.
// It is decoded from a value of AgentType. Secrets are references, never
// values.
type Agent struct {
	Name string `cty:"name"`
	// Image is an OCI image: a digest, an archive or a layout. It is empty for
	// the process runtime.
	Image string `cty:"image"`
	// Built is the image if it is an OCI archive made by another step, and nil
	// otherwise. The argument image accepts both.
	Built *Artifact `cty:"built"`
	// Command and Args are the command line. Command[0] may be "mleflow", which
	// stands for the running binary.
	Command []string `cty:"command"`
	Args    []string `cty:"args"`
	// Files are copied into the folder in which the command runs, by their
	// paths there. "." is the folder itself.
	Files map[string]*Artifact `cty:"files"`
	// Env is the environment by variable name.
	Env map[string]string `cty:"env"`
	// Models are the model blocks that it may use, the main one first.
	Models []Model `cty:"models"`
	// Secrets maps environment variables to the sources of their values:
	// "env:NAME", "file:PATH" or "command:LINE".
	Secrets map[string]string `cty:"secrets"`
	// Python is the output of another step with the packages of the agent's
	// Python, or nil if there are none. Venv is the path of this machine's
	// environment with these packages, if the agent can see it. Venv is not
	// part of the key, because Python lists its content.
	Python *Artifact `cty:"python"`
	Venv   string    `cty:"venv"`
}

// AgentType is the type of agent.<name> in the language.
var AgentType = TypeOf[Agent]()
