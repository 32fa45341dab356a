package sampling

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The outcomes of requests.
const (
	outcomeAnswered  = "answered"
	outcomeRefused   = "refused"   // a limit, the policy or the reviewer refused it
	outcomeInvalid   = "invalid"   // the request breaks the rules of the protocol
	outcomeFailed    = "failed"    // the model failed, or there is none
	outcomeCancelled = "cancelled" // the caller stopped waiting
	outcomeWaiting   = "waiting"   // a person decides later; another record follows then
)

// Who allowed or refused a request or a reply; empty if no decision was needed.
const (
	byLimits   = "limits" // the limits; there is no reviewer
	byPolicy   = "policy"
	byReviewer = "reviewer"
)

// Record describes one request that has ended or waits for a person, for [Options.Audit]. Its JSON
// has more members than the fields, such as the model, the decisions, the cost and the times. It has
// no contents of messages, but hashes of the request and the reply, from which a short text can be
// guessed, and some words of server and model, each cut to 1 KiB: treat it as confidential.
type Record struct {
	Server string // the program's name for it

	// Outcome is "answered", "refused" by a limit, the policy or the reviewer, "invalid" by the
	// protocol, "failed" by the model, "cancelled" by the caller, or "waiting" for a person who
	// decides later; another record follows then.
	Outcome string

	InputTokens, OutputTokens int64

	all *record
}

// MarshalJSON writes the whole record.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.all) }

// record is the JSON of a [Record].
type record struct {
	Time time.Time `json:"time"` // arrival of the request

	Server   string `json:"server,omitempty"`   // the program's name for it
	SelfName string `json:"selfName,omitempty"` // the server's name for itself
	Revision string `json:"revision,omitempty"` // revision of the protocol
	ID       string `json:"id,omitempty"`       // id of the request, in the legacy era
	Method   string `json:"method,omitempty"`   // method of the call in which the server asks
	Tool     string `json:"tool,omitempty"`     // tool of that call
	Call     string `json:"call,omitempty"`     // call that is charged: from Options.Origin, or the client's id of it
	Depth    int    `json:"depth"`

	Outcome       string `json:"outcome"`
	Kind          string `json:"kind,omitempty"`   // kind of the refusal
	Status        int    `json:"status,omitempty"` // HTTP status of the failure
	Decision      string `json:"decision,omitempty"`
	ReplyDecision string `json:"replyDecision,omitempty"`
	Edited        bool   `json:"edited,omitempty"`      // the reviewer changed the request
	ReplyEdited   bool   `json:"replyEdited,omitempty"` // the reviewer changed the reply

	Model          string `json:"model,omitempty"`      // model that was chosen
	Reason         string `json:"reason,omitempty"`     // reason for the choice; quotes a hint of the server
	AnsweredBy     string `json:"answeredBy,omitempty"` // the provider's name for the model
	IncludeContext string `json:"includeContext,omitempty"`
	StopReason     string `json:"stopReason,omitempty"`
	Completions    int    `json:"completions,omitempty"`

	InputTokens  int64      `json:"inputTokens"`
	OutputTokens int64      `json:"outputTokens"`
	Cost         cost.Money `json:"cost,omitzero"`       // cost by Options.Prices
	Estimated    bool       `json:"estimated,omitempty"` // the provider did not count all of it

	Waiting   time.Duration `json:"waiting"`   // time in the queue
	Reviewing time.Duration `json:"reviewing"` // time of the reviewer
	Asking    time.Duration `json:"asking"`    // time of the model

	RequestHash string `json:"requestHash,omitempty"` // SHA-256 of the JSON of the server's request
	ReplyHash   string `json:"replyHash,omitempty"`   // SHA-256 of the reply to the server
}

// run is the state of one request.
type run struct {
	requester  *requester
	request    *Request
	model      Model
	ticket     *ticket
	addedBytes int // bytes that rewriting adds to the schemas of the tools

	approved    bool   // a person approved it before the request arrived
	approvedFor string // the approved model, "" for any

	record record
}

// newRun returns the state of a request that has arrived.
func newRun(q *requester, params *mcp.CreateMessageParams) *run {
	r := &run{requester: q}
	r.record = record{
		Time:     time.Now(),
		Server:   q.label,
		SelfName: excerpt.Cut(q.origin.Server.Info.Name),
		Revision: q.origin.Server.Revision,
		ID:       excerpt.Cut(string(q.origin.ID)),
		Depth:    q.depth,
		Call:     q.call,
		Outcome:  outcomeFailed,
	}
	if call := q.origin.Call; call != nil {
		r.record.Method, r.record.Tool = call.Method, excerpt.Cut(call.Name)
	}
	if params != nil {
		r.record.IncludeContext = excerpt.Cut(params.IncludeContext)
	}
	return r
}

// audit completes the record of a request and passes it to Options.Audit.
func (s *Sampler) audit(ctx context.Context, r *run, result *mcp.CreateMessageResult, err error) {
	if s.options.Audit == nil {
		return
	}
	a := &r.record
	if r.request != nil {
		a.Model, a.Reason = r.request.Model, r.request.reason
	}
	if r.ticket != nil {
		u := r.ticket.usage()
		a.InputTokens, a.OutputTokens, a.Cost, a.Estimated = u.Input, u.Output, u.Cost, u.Estimated
	}
	var refusal *refusedError
	var rpc *mcp.RPCError
	switch {
	case result != nil && err == nil:
		raw := encodeJSON(result)
		a.Outcome, a.StopReason, a.ReplyHash = outcomeAnswered, excerpt.Cut(result.StopReason), hash(raw)
	case errors.Is(err, mcp.ErrAnswerLater):
		a.Outcome = outcomeWaiting
	case errors.As(err, &refusal):
		a.Outcome, a.Kind = outcomeRefused, refusal.kind
	case errors.As(err, &rpc) && rpc.Code == mcp.CodeInvalidParams:
		a.Outcome = outcomeInvalid
	case ctx.Err() != nil:
		a.Outcome = outcomeCancelled
	}
	s.options.Audit(context.WithoutCancel(ctx), &Record{
		Server:       a.Server,
		Outcome:      a.Outcome,
		InputTokens:  a.InputTokens,
		OutputTokens: a.OutputTokens,
		all:          a,
	})
}

// hash returns the SHA-256 of JSON in hexadecimal digits, "" for none.
func hash(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// encodeJSON returns the JSON of a value as on the wire, nil if it cannot be encoded.
func encodeJSON(v any) json.RawMessage {
	raw, err := jsonrpc.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
