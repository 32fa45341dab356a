package approval

import "context"

// Store keeps the decisions that hold for later calls. Its methods may be
// called concurrently. A store that fails does not fail calls: they are asked
// about, and the log has the error.
type Store interface {
	// Recall finds a decision; found is false when there is none.
	Recall(ctx context.Context, key Key) (d Decision, found bool, err error)

	// Remember keeps a decision instead of an earlier one, if any.
	Remember(ctx context.Context, key Key, d Decision) error

	// Forget drops the decisions of a user about a server; "" stands for all users
	// or all servers.
	Forget(ctx context.Context, user, server string) error
}

// Key is what a decision is remembered for. A decision about a tool does
// not outlive the definition that it was made about, and none holds for another
// user, or for another server under the same label.
type Key struct {
	Scope       Scope  `json:"scope"`
	User        string `json:"user,omitempty"`        // what Options.User returned
	Server      string `json:"server"`                // the host's label
	Origin      string `json:"origin"`                // a hash of its command line and directory, or URL
	Place       string `json:"place,omitempty"`       // a part of that for a person
	Tool        string `json:"tool,omitempty"`        // the server's name, "" for ScopeServer
	Fingerprint string `json:"fingerprint,omitempty"` // of the tool's definition, "" for ScopeServer
	Arguments   string `json:"arguments,omitempty"`   // a hash, for ScopeArguments only
}
