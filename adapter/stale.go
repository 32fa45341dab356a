package adapter

import "fmt"

// staleness says how a tool differs from what a model was offered.
type staleness string

const (
	toolChanged   staleness = "tool changed"   // its definition has changed
	toolGone      staleness = "tool gone"      // its server does not offer it
	serverGone    staleness = "server gone"    // its server has left the toolset
	toolAmbiguous staleness = "tool ambiguous" // several servers with that label have the tool
)

// staleToolError is the error of a call of a tool that has changed since the model was offered
// it.
type staleToolError struct {
	tool   string // as the model knows it, or the server's name if that is unknown
	server string // the host's label
	reason staleness
}

func (e *staleToolError) Is(target error) bool { return target == ErrStale }

func (e *staleToolError) Error() string {
	switch e.reason {
	case toolGone:
		return fmt.Sprintf("server %q does not offer the tool %s any more", e.server, e.tool)
	case toolAmbiguous:
		return fmt.Sprintf("there are several servers %q with the tool %s", e.server, e.tool)
	case serverGone:
		return fmt.Sprintf("server %q, which had the tool %s, was removed", e.server, e.tool)
	}
	return fmt.Sprintf("server %q has changed the tool %s since it was offered", e.server, e.tool)
}
