package dialect

// Ability is something a provider can do beyond running the requested model on
// the input it was sent. Pipelines grant abilities by name in tools.
type Ability string

// The abilities.
const (
	WebSearch       Ability = "web_search"
	WebFetch        Ability = "web_fetch"
	CodeInterpreter Ability = "code_interpreter"
	FileSearch      Ability = "file_search"
	MCP             Ability = "mcp"
	RemoteFiles     Ability = "remote_files"
	Files           Ability = "files"
	Batch           Ability = "batch"
	FineTuning      Ability = "fine_tuning"
	ComputerUse     Ability = "computer_use"
	ImageGeneration Ability = "image_generation"
	Audio           Ability = "audio"
	ToolSearch      Ability = "tool_search"
	Compaction      Ability = "compaction"
	ServerState     Ability = "server_state"
	OtherModels     Ability = "other_models"
	Premium         Ability = "premium"
	UnknownFields   Ability = "unknown_fields"
)

// Described is an ability with a description for people.
type Described struct {
	Ability Ability
	Text    string
}

// Abilities returns all abilities, in the order of the documentation.
func Abilities() []Described {
	return []Described{
		{WebSearch, "search the web"},
		{WebFetch, "fetch web pages"},
		{CodeInterpreter, "run code on its machines"},
		{FileSearch, "search files and stores that it keeps"},
		{MCP, "call remote MCP servers and connectors"},
		{RemoteFiles, "fetch images and files from addresses"},
		{Files, "keep files and read them by ID"},
		{Batch, "run batches of requests later"},
		{FineTuning, "train models"},
		{ComputerUse, "work a browser of its own"},
		{ImageGeneration, "make images and videos, at prices of their own"},
		{Audio, "hear and speak, at prices of their own"},
		{ToolSearch, "search the tools of the request in further turns"},
		{Compaction, "summarize the conversation in a further turn"},
		{ServerState, "keep and use earlier responses, conversations, prompts and caches"},
		{OtherModels, "use models other than the one that is asked for"},
		{Premium, "serve faster or elsewhere, at higher prices"},
		{UnknownFields, "whatever the fields, types and endpoints mean that mleflow does not know"},
	}
}

// says describes an ability to a person.
func (a Ability) says() string {
	for _, d := range Abilities() {
		if d.Ability == a {
			return d.Text
		}
	}
	return string(a)
}
