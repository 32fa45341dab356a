package adapter

import "fmt"

// Staleness says why a tool is not what a model was offered.
type Staleness int

const (
	ToolChanged Staleness = iota // its definition is another one
	ToolGone                     // its server does not offer it
	ServerGone                   // its server has left the toolset
)

// String is what the constant says in words.
func (s Staleness) String() string {
	return word("Staleness", int(s), "tool changed", "tool gone", "server gone")
}

// StaleToolError says that a tool is not what it was when the model was offered
// it. The call was not sent.
type StaleToolError struct {
	Tool   string // the model's name of the tool
	Server string // the host's label
	Reason Staleness
}

func (e *StaleToolError) Error() string {
	switch e.Reason {
	case ToolGone:
		return fmt.Sprintf("server %q does not offer the tool %s any more", e.Server, e.Tool)
	case ServerGone:
		return fmt.Sprintf("server %q, which had the tool %s, was removed", e.Server, e.Tool)
	}
	return fmt.Sprintf("server %q has changed the tool %s since it was offered", e.Server, e.Tool)
}

// current is the tool as the toolset has it at present: its name and its
// connection may be others. The error is a [*StaleToolError].
func (t *Tool) current() (*Tool, error) {
	set := t.server.set
	now, ok := set.present.Load().current[t.id()]
	if ok && now.fingerprint == t.fingerprint {
		return now, nil
	}
	err := &StaleToolError{Tool: t.name, Server: t.server.label}
	switch {
	case ok:
	case set.follows(t.server.recipe):
		err.Reason = ToolGone
	default:
		err.Reason = ServerGone
	}
	return nil, err
}

// follows reports whether a server is in the toolset.
func (t *Toolset) follows(recipe *Server) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.servers {
		if s.recipe == recipe {
			return true
		}
	}
	return false
}
