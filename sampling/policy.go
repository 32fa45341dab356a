package sampling

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Mode specifies how a request is decided. The zero value leaves it to the reviewer; without
// a reviewer it is allowed. The limits apply in every mode.
type Mode int

const (
	ModeAllow Mode = iota + 1 // allowed without review
	ModeDeny                  // refused without review
)

// Policy holds a server's permissions. The zero value leaves every decision to the reviewer.
type Policy struct {
	// DuringCalls applies to requests during a call of a tool, a prompt or a resource, OutsideCalls to other requests. A
	// connection of revision 2025-11-25 or earlier with several calls under way does not say to which call a request
	// belongs; then OutsideCalls applies, unless [Options.Origin] names the call.
	DuringCalls, OutsideCalls Mode
}

// ForServer returns a handler for the requests of one server. server is the program's name for it: [Options.Servers],
// budgets and the audit use that name. The handler shares everything else with the sampler.
//
//	mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler.ForServer("github")})
//
// A program that connects with package adapter sets [Options.Origin] instead.
func (s *Sampler) ForServer(server string) mcp.SamplingHandler { return &labelledHandler{s, server} }

type labelledHandler struct {
	*Sampler
	server string // the host's name
}

// CreateMessage implements [mcp.SamplingHandler].
func (l *labelledHandler) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return l.createMessage(ctx, params, l.server)
}

// requester is the server of a request, and the call in which it asks.
type requester struct {
	origin     mcp.Origin
	label      string  // the host's name for the server
	key        string  // the server in the accounts
	call       string  // the outermost call of the request
	chargeKey  callKey // key of that call; zero if unknown
	duringCall bool    // the request belongs to a call
	depth      int
	policy     Policy
}

// callKey identifies a call in the accounts: by the connection and its id of the call, or else by the host's names.
type callKey struct {
	session any
	id      int64

	server, call string
}

// parentKey is the context key for the *requester of the request around this one.
type parentKey struct{}

// identify finds the server and the call of a request. It fails if the host has
// policies by name, but no name for the server.
func (s *Sampler) identify(ctx context.Context, label string) (*requester, error) {
	q := &requester{label: label, depth: 1, policy: s.options.Policy}
	q.origin, _ = mcp.OriginFrom(ctx)
	call := "" // the host's name for it
	if s.options.Origin != nil {
		var server string
		server, call = s.options.Origin(ctx)
		q.label = cmp.Or(q.label, server)
	}
	q.duringCall = q.origin.Call != nil || call != ""
	q.key = "named\x00" + q.label
	if q.label == "" { // a server's name for itself never equals a host's name
		q.key = "unnamed\x00" + excerpt.Cut(q.origin.Server.Info.Name)
	}
	parent, _ := ctx.Value(parentKey{}).(*requester)
	if parent != nil {
		q.depth = parent.depth + 1
	}
	q.setCharge(call, parent)
	switch p, found := s.options.Servers[q.label]; {
	case q.label == "" && len(s.options.Servers) > 0:
		return q, newRefusal(kindPolicy, "the host has policies by server, but no name for this one")
	case q.label != "" && found:
		q.policy = p
	}
	return q, nil
}

// setCharge sets the call that is charged: that of the request around this one, else the client's, else the host's.
func (q *requester) setCharge(hostCall string, parent *requester) {
	switch call := q.origin.Call; {
	case parent != nil && parent.chargeKey != (callKey{}):
		q.call, q.chargeKey = parent.call, parent.chargeKey
	case call != nil && call.ID != 0:
		q.call = cmp.Or(hostCall, strconv.FormatInt(call.ID, 10))
		q.chargeKey = callKey{session: q.origin.Session, id: call.ID}
	case hostCall != "":
		q.call = hostCall
		q.chargeKey = callKey{session: q.origin.Session, server: q.label, call: hostCall}
	}
}

func (q *requester) mode() Mode {
	if q.duringCall {
		return q.policy.DuringCalls
	}
	return q.policy.OutsideCalls
}

// checkPolicies returns an error for a policy with an unknown mode.
func checkPolicies(o *Options) error {
	policies := map[string]Policy{"Options.Policy": o.Policy}
	for name, p := range o.Servers {
		policies[fmt.Sprintf("the policy of %q", name)] = p
	}
	for name, p := range policies {
		for _, m := range []Mode{p.DuringCalls, p.OutsideCalls} {
			if m < 0 || m > ModeDeny {
				return fmt.Errorf("%s has the unknown mode %d", name, m)
			}
		}
	}
	return nil
}
