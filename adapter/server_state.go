package adapter

import (
	"log/slog"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

// serverState is what all connections to a server share: how it is treated, and what was learnt
// about it. It is also the identity of the server.
type serverState struct {
	label   string // the host's, "" for the toolset's own tools
	origin  string // see serverOrigin
	address string // see serverAddress

	policy    Policy        // with defaults
	approve   approval.Func // nil: every call is allowed
	keyInMeta string        // see Server
	maxUsers  int           // connections, one for each user; 0: one connection for all
	maxMedia  int
	outputs   schemacheck.Validator // checks outputs if the client has no validator
	log       *slog.Logger

	// Learnt while the toolset is open.
	useOlder     atomic.Bool                      // connect with 2025-11-25, because its tools send requests
	refusesOlder atomic.Bool                      // 2025-11-25 was refused
	live         atomic.Pointer[mcpclient.Client] // the connection of a lazy server, nil while it is idle
}

// newServerState returns the state of s. o has its defaults.
func newServerState(o *Options, s *Server) *serverState {
	return &serverState{
		label:     s.Name,
		origin:    serverOrigin(s),
		address:   serverAddress(s),
		policy:    s.Policy.inherit(o.Policy),
		approve:   o.Approve,
		keyInMeta: s.KeyInMeta,
		maxUsers:  max(s.PerUser, 0),
		maxMedia:  o.maxMedia,
		log:       o.Logger,
	}
}
