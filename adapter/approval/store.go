package approval

import (
	"context"
	"fmt"
	"maps"
	"sync"
)

// Store keeps the decisions that hold for later calls. Its methods may be called concurrently. If a
// store fails, the error is logged and the call needs a new decision.
type Store interface {
	// Recall returns the decision of a key. found reports whether there is one.
	Recall(ctx context.Context, key Key) (d Decision, found bool, err error)

	// Remember stores a decision. It replaces an earlier decision of the key.
	Remember(ctx context.Context, key Key, d Decision) error

	// Forget removes the decisions of a user about a server. "" means all users or all servers.
	Forget(ctx context.Context, user, server string) error
}

// Key identifies the calls that a decision holds for. A decision never holds for another user or for
// another server with the same label, and only with ScopeServer for another definition of the tool.
type Key struct {
	Scope       Scope  `json:"scope"`
	User        string `json:"user,omitempty"`        // the result of User of adapter.Options
	Server      string `json:"server"`                // the host's label
	Origin      string `json:"origin"`                // a hash of the command line and directory, or of the URL
	Place       string `json:"place,omitempty"`       // how the server is reached, for display
	Tool        string `json:"tool,omitempty"`        // the server's name, "" for ScopeServer
	Fingerprint string `json:"fingerprint,omitempty"` // the fingerprint of the tool's definition, "" for ScopeServer
	Arguments   string `json:"arguments,omitempty"`   // a hash, for ScopeArguments only
}

// matches reports whether the key belongs to a user and a server. "" means all users or all servers.
func (k *Key) matches(user, server string) bool {
	return (user == "" || k.User == user) && (server == "" || k.Server == server)
}

// maxDecisions bounds the decisions in a memory or a directory.
const maxDecisions = 10_000

var errFull = fmt.Errorf("%d decisions are already remembered", maxDecisions)

// NewMemory returns an empty [Store] in memory, which keeps at most 10,000 decisions and refuses more.
func NewMemory() Store { return &memory{decisions: map[Key]Decision{}} }

type memory struct {
	mu        sync.Mutex
	decisions map[Key]Decision
}

// Recall implements [Store].
func (s *memory) Recall(ctx context.Context, key Key) (d Decision, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, found = s.decisions[key]
	return d, found, nil
}

// Remember implements [Store].
func (s *memory) Remember(ctx context.Context, key Key, d Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.decisions[key]; !known && len(s.decisions) >= maxDecisions {
		return errFull
	}
	s.decisions[key] = d
	return nil
}

// Forget implements [Store].
func (s *memory) Forget(ctx context.Context, user, server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.decisions, func(key Key, _ Decision) bool { return key.matches(user, server) })
	return nil
}
