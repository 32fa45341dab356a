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
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The outcomes of requests. The others failed: the model did, or there is none.
const (
	outcomeAnswered  = "answered"
	outcomeRefused   = "refused"   // by a limit, the policy or the reviewer
	outcomeInvalid   = "invalid"   // the request breaks the rules of the protocol
	outcomeFailed    = "failed"    // also by a panic
	outcomeCancelled = "cancelled" // the caller stopped waiting
	outcomeWaiting   = "waiting"   // a person decides later; another record follows then
)

// Who allowed or refused a request or a reply; empty if no decision was needed.
const (
	byLimits   = "limits" // there is no reviewer
	byPolicy   = "policy"
	byReviewer = "reviewer"
)

// Record describes one request that has ended or waits for a person, for [Options.Audit]. Its JSON has more members than
// the fields; docs/sampling.md lists them. A record has no contents of messages, but hashes of them, from which a short
// text can be guessed, and words of the server and the model, each cut to 1 KiB: treat it as confidential.
type Record struct {
	Server string // the program's name for it

	// Outcome is "answered", "refused" by a limit, the policy or the reviewer, "invalid" by the protocol, "failed",
	// "cancelled" by the caller, or "waiting" for a person who decides later; another record follows then.
	Outcome string

	InputTokens, OutputTokens int64

	all *record
}

// MarshalJSON writes the whole record.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.all) }

// record is the JSON of a [Record].
type record struct {
	Time time.Time `json:"time"` // of arrival

	Server   string `json:"server,omitempty"` // the program's name for it
	SelfName string `json:"selfName,omitempty"`
	Revision string `json:"revision,omitempty"`
	ID       string `json:"id,omitempty"`
	Method   string `json:"method,omitempty"` // of the call in which the server asks
	Tool     string `json:"tool,omitempty"`   // of that call
	Call     string `json:"call,omitempty"`   // the call that is charged: by Options.Origin, or the client's id of it
	Depth    int    `json:"depth"`

	Outcome       string `json:"outcome"`
	Kind          string `json:"kind,omitempty"`   // of a refusal
	Status        int    `json:"status,omitempty"` // of HTTP, for a failure
	Decision      string `json:"decision,omitempty"`
	ReplyDecision string `json:"replyDecision,omitempty"`
	Edited        bool   `json:"edited,omitempty"` // by the reviewer
	ReplyEdited   bool   `json:"replyEdited,omitempty"`

	Model          string `json:"model,omitempty"`      // that was chosen
	Reason         string `json:"reason,omitempty"`     // for the choice; quotes a hint of the server
	AnsweredBy     string `json:"answeredBy,omitempty"` // the provider's name for the model
	IncludeContext string `json:"includeContext,omitempty"`
	StopReason     string `json:"stopReason,omitempty"`
	Completions    int    `json:"completions,omitempty"`

	InputTokens  int64      `json:"inputTokens"`
	OutputTokens int64      `json:"outputTokens"`
	Cost         cost.Money `json:"cost,omitzero"`
	Estimated    bool       `json:"estimated,omitempty"` // the provider did not count all of it

	Waiting   time.Duration `json:"waiting"` // in the queue
	Reviewing time.Duration `json:"reviewing"`
	Asking    time.Duration `json:"asking"` // the model

	RequestHash string `json:"requestHash,omitempty"` // SHA-256 of the JSON of the server's request
	ReplyHash   string `json:"replyHash,omitempty"`   // SHA-256 of the JSON of the reply to the server
}

// newRecord returns the record of a request that has arrived.
func newRecord(q *requester, params *mcp.CreateMessageParams) record {
	r := record{
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
		r.Method, r.Tool = call.Method, excerpt.Cut(call.Name)
	}
	if params != nil {
		r.IncludeContext = excerpt.Cut(params.IncludeContext)
		r.RequestHash = hash(params) // now, as a reviewer may edit blocks in place
	}
	return r
}

// audit completes the record of a request and passes it to Options.Audit. After a panic, result and err are nil.
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
	refusal, isRefused := errors.AsType[*refusedError](err)
	rpc, isRPC := errors.AsType[*mcp.RPCError](err)
	switch {
	case result != nil && err == nil:
		a.Outcome, a.StopReason, a.ReplyHash = outcomeAnswered, excerpt.Cut(result.StopReason), hash(result)
	case errors.Is(err, mcp.ErrAnswerLater):
		a.Outcome = outcomeWaiting
	case isRefused:
		a.Outcome, a.Kind = outcomeRefused, refusal.kind
	case isRPC && rpc.Code == mcp.CodeInvalidParams:
		a.Outcome = outcomeInvalid
	case ctx.Err() != nil:
		a.Outcome = outcomeCancelled
	}
	s.options.Audit(context.WithoutCancel(ctx), &Record{
		Server: a.Server, Outcome: a.Outcome, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, all: a,
	})
}

// hash returns the SHA-256 of the JSON of a value in hexadecimal digits, "" if it cannot be encoded.
func hash(v any) string {
	raw := encodeJSON(v)
	if raw == nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
