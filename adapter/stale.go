package adapter

import "fmt"

// Staleness says why a tool is not what a model was offered.
type Staleness string

const (
	ToolChanged   Staleness = "tool changed"   // its definition has changed
	ToolGone      Staleness = "tool gone"      // its server does not offer it
	ServerGone    Staleness = "server gone"    // its server has left the toolset
	ToolAmbiguous Staleness = "tool ambiguous" // several servers with that label have the tool
)

// StaleToolError says that a tool is not what it was when the model was offered
// it. The call was not sent.
type StaleToolError struct {
	tool   string // the model's name for the tool, or the server's if that is not known
	server string // the host's label
	Reason Staleness
}

func (e *StaleToolError) Error() string {
	switch e.Reason {
	case ToolGone:
		return fmt.Sprintf("server %q does not offer the tool %s any more", e.server, e.tool)
	case ToolAmbiguous:
		return fmt.Sprintf("there are several servers %q with the tool %s", e.server, e.tool)
	case ServerGone:
		return fmt.Sprintf("server %q, which had the tool %s, was removed", e.server, e.tool)
	}
	return fmt.Sprintf("server %q has changed the tool %s since it was offered", e.server, e.tool)
}
