package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
)

// DecisionStore keeps the decisions that hold for later calls. Its methods may be
// called concurrently. A store that fails does not fail calls: they are asked
// about, and the log has the error.
type DecisionStore interface {
	// Recall finds a decision; found is false when there is none.
	Recall(ctx context.Context, key DecisionKey) (d Decision, found bool, err error)

	// Remember keeps a decision instead of the one that was there, if any.
	Remember(ctx context.Context, key DecisionKey, d Decision) error

	// Forget drops the decisions about a server, all of them when server is "".
	Forget(server string) error
}

// DecisionKey is what a decision is remembered for. A decision about a tool does
// not outlive the definition that it was made about.
type DecisionKey struct {
	Scope       Scope  `json:"scope"`
	Server      string `json:"server"`                // the host's label
	Tool        string `json:"tool,omitempty"`        // the server's name, "" for SameServer
	Fingerprint string `json:"fingerprint,omitempty"` // of the tool's definition, "" for SameServer
	Arguments   string `json:"arguments,omitempty"`   // a hash, for SameArguments only
}

func keyOf(scope Scope, t *Tool, arguments json.RawMessage) DecisionKey {
	k := DecisionKey{Scope: scope, Server: t.server.label}
	if scope == SameServer {
		return k
	}
	k.Tool, k.Fingerprint = t.def.Name, t.fingerprint
	if scope == SameArguments {
		sum := sha256.Sum256(canonical(arguments))
		k.Arguments = hex.EncodeToString(sum[:])
	}
	return k
}

// maxRemembered bounds the decisions that a store keeps.
const maxRemembered = 10_000

var errTooManyDecisions = errors.New("10000 decisions are remembered already: this one is not")

// decisions is the store of a toolset that has none: it ends with the toolset.
type decisions struct {
	mu  sync.Mutex
	all map[DecisionKey]Decision
}

func (s *decisions) Recall(_ context.Context, key DecisionKey) (Decision, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.all[key]
	return d, ok, nil
}

func (s *decisions) Remember(_ context.Context, key DecisionKey, d Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.all[key]; !known && len(s.all) >= maxRemembered {
		return errTooManyDecisions
	}
	if s.all == nil {
		s.all = map[DecisionKey]Decision{}
	}
	s.all[key] = d
	return nil
}

func (s *decisions) Forget(server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.all {
		if server == "" || key.Server == server {
			delete(s.all, key)
		}
	}
	return nil
}
