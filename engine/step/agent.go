package step

import "github.com/zclconf/go-cty/cty"

// Agent is an agent block of the pipeline: who solves a competition. It
// decodes from a value of AgentType. Secrets are references, never values.
type Agent struct {
	Name string `cty:"name"`
	// Image is an OCI image by digest, archive or layout; empty for the
	// process runtime.
	Image string `cty:"image"`
	// Built is the image if it is the output of another step, an OCI archive;
	// otherwise nil. The argument image accepts both.
	Built *Artifact `cty:"built"`
	// Command and Args are the command line. Command[0] may be the string
	// "mleflow", which stands for the running binary.
	Command []string `cty:"command"`
	Args    []string `cty:"args"`
	// Files are copied to where the command runs, by their path there; "." is the
	// folder itself.
	Files map[string]*Artifact `cty:"files"`
	// Env is the environment, by name.
	Env map[string]string `cty:"env"`
	// Models are the model blocks whose models it may use, the main one first.
	Models []Model `cty:"models"`
	// Secrets maps names of environment variables to where their values
	// come from: "env:NAME", "file:PATH" or "command:LINE".
	Secrets map[string]string `cty:"secrets"`
	// Python are the packages of its Python, the output of another step; nil
	// without any. Venv is the path of the environment of this machine that they
	// are in, if that is shown to the agent. It is not in the key: Python lists what
	// is in it.
	Python *Artifact `cty:"python"`
	Venv   string    `cty:"venv"`
}

// AgentType is the type of agent.<name> in the language.
var AgentType = cty.Object(map[string]cty.Type{
	"name":    cty.String,
	"image":   cty.String,
	"built":   ArtifactType,
	"command": cty.List(cty.String),
	"args":    cty.List(cty.String),
	"files":   cty.Map(ArtifactType),
	"env":     cty.Map(cty.String),
	"models":  cty.List(ModelType),
	"secrets": cty.Map(cty.String),
	"python":  ArtifactType,
	"venv":    cty.String,
})
