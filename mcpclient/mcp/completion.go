package mcp

// CompleteParams asks for completions of an argument of a prompt or of a resource template.
type CompleteParams struct {
	Prompt   string // the name of the prompt
	Template string // [ResourceTemplate.URITemplate], instead of Prompt
	Argument string // the name of the argument
	Value    string // what has been typed so far

	// Filled holds the arguments that are known already. It is sent since
	// revision 2025-06-18; earlier servers complete without it.
	Filled map[string]string
}

// Completion is a server's proposals for the value of an argument.
type Completion struct {
	Values  []string // the best first, at most 100
	Total   *int     // how many there are in all; nil if the server does not say
	HasMore bool     // there are more than Values
}
