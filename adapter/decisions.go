package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// DecisionStore keeps the decisions that hold for later calls. Its methods may be
// called concurrently. A store that fails does not fail calls: they are asked
// about, and the log has the error.
type DecisionStore interface {
	// Recall finds a decision; found is false when there is none.
	Recall(ctx context.Context, key DecisionKey) (d Decision, found bool, err error)

	// Remember keeps a decision instead of the one that was there, if any.
	Remember(ctx context.Context, key DecisionKey, d Decision) error

	// Forget drops the decisions of a user about a server; "" stands for all users
	// or all servers.
	Forget(ctx context.Context, user, server string) error
}

// DecisionKey is what a decision is remembered for. A decision about a tool does
// not outlive the definition that it was made about, and none holds for another
// user, or for another server under the same label.
type DecisionKey struct {
	Scope       Scope  `json:"scope"`
	User        string `json:"user,omitempty"`        // what Options.User returned
	Server      string `json:"server"`                // the host's label
	Origin      string `json:"origin"`                // a hash of the command line or the URL behind it
	Tool        string `json:"tool,omitempty"`        // the server's name, "" for SameServer
	Fingerprint string `json:"fingerprint,omitempty"` // of the tool's definition, "" for SameServer
	Arguments   string `json:"arguments,omitempty"`   // a hash, for SameArguments only
}

// isOf reports whether the key is that of a user and a server; "" stands for all.
func (k *DecisionKey) isOf(user, server string) bool {
	return (user == "" || k.User == user) && (server == "" || k.Server == server)
}

func keyOf(scope Scope, user string, t *Tool, arguments json.RawMessage) DecisionKey {
	k := DecisionKey{Scope: scope, User: user, Server: t.policy.label, Origin: t.policy.origin}
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

// originOf tells apart what can be behind a label: a command by its program,
// arguments and directory, a server by its URL without user info. Environments and
// headers are left out, because tokens in them change. Of a Client, and of a
// Transport that is none of package mcpclient, nothing but the type is known.
func originOf(s *Server) string {
	var origin []string
	switch t := s.Transport.(type) {
	case *mcpclient.Command:
		origin = append([]string{"command", t.Path, t.Dir}, t.Args...)
	case *mcpclient.HTTP:
		origin = []string{"http", withoutUser(t.URL)}
	case *mcpclient.SSE:
		origin = []string{"sse", withoutUser(t.URL)}
	default:
		origin = []string{fmt.Sprintf("%T", s.Transport)}
	}
	h := sha256.New()
	for _, part := range origin {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.User = nil
	return u.String()
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

func (s *decisions) Forget(_ context.Context, user, server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.all {
		if key.isOf(user, server) {
			delete(s.all, key)
		}
	}
	return nil
}
