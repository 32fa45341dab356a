package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const secretQuestion = `{"messages":[{"role":"user","content":{"type":"text","text":"my secret"}}],"maxTokens":100,"includeContext":"thisServer"}`

// auditTo returns an Options.Audit that passes the records on.
func auditTo(t *testing.T, use func(record)) func(context.Context, *Record) {
	return func(_ context.Context, got *Record) {
		var r record
		check.Must(t, json.Unmarshal(check.Value(json.Marshal(got))(t), &r))
		check.Equal(t, "fields", *got, Record{r.Server, r.Outcome, r.InputTokens, r.OutputTokens, got.all})
		use(r)
	}
}

func TestAudit(t *testing.T) {
	no := errors.New("no")
	for _, tt := range []struct {
		name, params string
		host         http.HandlerFunc
		opts         Options
		want         record
	}{
		{"answered", secretQuestion, answering(usageAnswer(3, 2)), Options{}, record{
			Outcome: outcomeAnswered, Decision: byLimits, ReplyDecision: byLimits, Model: "gpt-4.1", Reason: "the only one", AnsweredBy: "gpt-4.1",
			IncludeContext: "thisServer", StopReason: "endTurn", Completions: 1, InputTokens: 3, OutputTokens: 2}},
		{"edited", secretQuestion, answering(usageAnswer(3, 2)), Options{Review: &Review{
			Request: func(_ context.Context, r *Request) error { r.Params.SystemPrompt = "x"; return nil },
			Reply: func(_ context.Context, _ *Request, reply *mcp.CreateMessageResult) error {
				reply.StopReason = "other"
				return nil
			},
		}}, record{
			Outcome: outcomeAnswered, Decision: byReviewer, ReplyDecision: byReviewer, Edited: true, ReplyEdited: true, Model: "gpt-4.1", Reason: "the only one",
			AnsweredBy: "gpt-4.1", IncludeContext: "thisServer", StopReason: "other", Completions: 1, InputTokens: 3, OutputTokens: 2}},
		{"refused", secretQuestion, answering(plainAnswer), Options{Review: &Review{Request: func(context.Context, *Request) error { return no }}}, record{
			Outcome: outcomeRefused, Kind: kindReview, Decision: byReviewer, Model: "gpt-4.1", Reason: "the only one", IncludeContext: "thisServer"}},
		{"over the limit", secretQuestion, answering(plainAnswer), Options{Limits: Limits{Total: Budget{Tokens: 1}}}, record{
			Outcome: outcomeRefused, Kind: kindBudget, Model: "gpt-4.1", Reason: "the only one", IncludeContext: "thisServer"}},
		{"denied", secretQuestion, answering(plainAnswer), Options{Policy: Policy{OutsideCalls: ModeDeny}}, record{
			Outcome: outcomeRefused, Kind: kindPolicy, IncludeContext: "thisServer"}},
		{"invalid", `{"messages":[],"maxTokens":-1}`, answering(plainAnswer), Options{}, record{Outcome: outcomeInvalid}},
		{"failed", secretQuestion, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, Options{}, record{
			Outcome: outcomeFailed, Status: 401, Decision: byLimits, Model: "gpt-4.1", Reason: "the only one", IncludeContext: "thisServer", Completions: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, tt.host)
			var records []record
			tt.opts.Audit = auditTo(t, func(r record) { records = append(records, r) })
			tt.want.Depth, tt.want.Server = 1, "files"
			_ = ask(t, h.sampler(t, &tt.opts).ForServer("files"), tt.params) // some fail
			check.Require(t, len(records) == 1, "got %d records of a request", len(records))
			volatile := cmpopts.IgnoreFields(record{}, "Time", "Waiting", "Reviewing", "Asking", "RequestHash", "ReplyHash")
			check.Same(t, "record", records[0], tt.want, volatile)
			raw := asJSON(records[0])
			check.That(t, !strings.Contains(raw, "secret") && !strings.Contains(raw, "Hello"), "got the contents: %s", raw)
			check.That(t, len(records[0].RequestHash) == 64 && (len(records[0].ReplyHash) == 64) == (tt.want.Outcome == outcomeAnswered),
				"got hashes %q and %q", records[0].RequestHash, records[0].ReplyHash)
		})
	}
}

func TestAuditOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, slowly(3*time.Second))
		var r record
		s := h.sampler(t, &Options{
			Audit: auditTo(t, func(got record) { r = got }),
			Review: &Review{
				Request: func(context.Context, *Request) error { time.Sleep(time.Second); return nil },
				Reply:   func(context.Context, *Request, *mcp.CreateMessageResult) error { time.Sleep(time.Second); return nil },
			},
		})
		start := time.Now()
		answered(t, s, hi)
		check.That(t, r.Time.Equal(start) && r.Waiting == 0 && r.Reviewing == 2*time.Second && r.Asking == 3*time.Second,
			"got %v, waiting %v, reviewing %v, asking %v, want %v, 0, 2s, 3s", r.Time, r.Waiting, r.Reviewing, r.Asking, start)
	})
}

// A cancelled request is in the audit; the context of Audit is not cancelled.
func TestAuditOfACancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	var r record
	s := h.sampler(t, &Options{Audit: func(ctx context.Context, got *Record) {
		check.NoError(t, ctx.Err(), "the context of the audit")
		r = *got.all
	}})
	check.Is(t, check.Err(s.CreateMessage(ctx, question(t, hi))), context.Canceled)
	check.That(t, r.Outcome == outcomeCancelled && r.Estimated && r.OutputTokens == 100, "got %+v, want cancelled with all of what was reserved", r)
}
