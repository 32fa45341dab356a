package convert

// Rules describe the forms of messages that a provider of langchaingo requires.
type Rules struct {
	SingleParts   bool // an AI message has one part
	NoBlankText   bool // blank text is refused
	MergedResults bool // the results of a turn are one message
	SchemaMaps    bool // the parameters of a tool are a map[string]any
	ResultsLast   bool // no human message may follow tool messages, so results have no images
	NoToolsAtEnd  bool // tools are left out when the model has to answer without them
}

// The rules of providers.
var (
	// OpenAI accepts messages as they are.
	OpenAI = Rules{}

	// Anthropic accepts AI messages of one part, and no blank text. Its models are told in words
	// when they have to answer without tools: the provider ignores the tool choice, and the API
	// requires the tools as long as the history has calls.
	Anthropic = Rules{SingleParts: true, NoBlankText: true}

	// Google accepts the results of one turn in one message, and schemas of tools as maps.
	Google = Rules{MergedResults: true, SchemaMaps: true}

	// Mistral accepts no human message after tool messages, and no tools when the model has to
	// answer without them.
	Mistral = Rules{ResultsLast: true, NoToolsAtEnd: true}
)
