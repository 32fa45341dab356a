package adapter

import "fmt"

// staleness describes why a tool is not the one that a model was offered.
type staleness int

const (
	toolChanged   staleness = iota // its definition has changed
	toolGone                       // its server does not offer it
	serverGone                     // its server has left the toolset
	toolAmbiguous                  // several servers with that label have the tool
)

// staleToolError reports that a tool changed or went away after a model was offered it.
type staleToolError struct {
	tool   string // the model's name of the tool, or the server's if that is unknown
	server string // the host's label
	reason staleness
}

// Is reports whether target is [ErrStale].
func (e *staleToolError) Is(target error) bool { return target == ErrStale }

func (e *staleToolError) Error() string {
	switch e.reason {
	case toolChanged:
		return fmt.Sprintf("server %q has changed the tool %s since it was offered", e.server, e.tool)
	case toolGone:
		return fmt.Sprintf("server %q does not offer the tool %s any more", e.server, e.tool)
	case toolAmbiguous:
		return fmt.Sprintf("there are several servers %q with the tool %s", e.server, e.tool)
	case serverGone:
		return fmt.Sprintf("server %q, which had the tool %s, was removed", e.server, e.tool)
	}
	return fmt.Sprintf("the tool %s of server %q is stale (reason %d)", e.tool, e.server, e.reason)
}
