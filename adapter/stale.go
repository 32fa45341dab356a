package adapter

import "fmt"

// Staleness says why a tool is not what a model was offered.
type Staleness int

const (
	ToolChanged   Staleness = iota // its definition has changed
	ToolGone                       // its server does not offer it
	ServerGone                     // its server has left the toolset
	ToolAmbiguous                  // several servers with that label have the tool
)

// String is what the constant says in words.
func (s Staleness) String() string {
	return word("Staleness", int(s), "tool changed", "tool gone", "server gone", "tool ambiguous")
}

// StaleToolError says that a tool is not what it was when the model was offered
// it. The call was not sent.
type StaleToolError struct {
	Tool   string // the model's name for the tool, or the server's if that is not known
	Server string // the host's label
	Reason Staleness
}

func (e *StaleToolError) Error() string {
	switch e.Reason {
	case ToolGone:
		return fmt.Sprintf("server %q does not offer the tool %s any more", e.Server, e.Tool)
	case ToolAmbiguous:
		return fmt.Sprintf("there are several servers %q with the tool %s", e.Server, e.Tool)
	case ServerGone:
		return fmt.Sprintf("server %q, which had the tool %s, was removed", e.Server, e.Tool)
	}
	return fmt.Sprintf("server %q has changed the tool %s since it was offered", e.Server, e.Tool)
}
