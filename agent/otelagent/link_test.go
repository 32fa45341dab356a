package otelagent_test

import (
	"context"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// counting returns a store in memory that counts what is written to it.
func counting() (store record.Store, writes *atomic.Int32) {
	writes = new(atomic.Int32)
	return ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
		if c.Method == "append" {
			writes.Add(1)
		}
		return c.Do()
	}), writes
}

var (
	talk  = runs.Key{ID: "talk"}
	greet = adapter.Func("greet", "", func(context.Context, struct{}) (string, error) { return "Hello.", nil }, nil)
)

// suspend runs an agent up to a question, which it answers, and continues it in another
// process, which has another recorder. Each gets a call of ctx for its context.
func suspend(t *testing.T, store record.Store, first, second *recorder, ctx func() context.Context) {
	t.Helper()
	options := agent.Options{Name: "boss", Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}
	result, err := first.agent(t, play(uses("1", "greet", "{}")), options, greet).Run(ctx(), agent.Text("Hi"), agent.WithRun(talk.ID))
	check.Require(t, err == nil && len(result.Questions) == 1, "got %+v, %v, want a question", result, err)
	result, err = second.agent(t, play(says("Done.")), options, greet).Resume(ctx(), talk, result.Questions[0].Allow())
	check.Require(t, err == nil && result.Output == "Done.", "got %+v, %v", result, err)
}

// A suspended run is two traces of one conversation, and the second has a link to the
// first. The context in between takes no write of its own.
func TestSuspendedRun(t *testing.T) {
	first, second := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	store, writes := counting()
	suspend(t, store, first, second, t.Context)
	a, b := first.span(t, "invoke_agent boss"), second.span(t, "invoke_agent boss")
	check.That(t, a.SpanContext.TraceID() != b.SpanContext.TraceID() && !b.Parent.IsValid(),
		"got the trace %v twice, or the parent %v, want two traces", a.SpanContext.TraceID(), b.Parent)
	check.That(t, len(a.Links) == 0 && linksTo(b, a), "got the links %v and %v, want one to %v", a.Links, b.Links, a.SpanContext)
	for _, r := range []*recorder{first, second} {
		for _, s := range r.GetSpans() {
			check.Equal(t, s.Name, attributes(s.Attributes)["gen_ai.conversation.id"], talk.ID)
		}
	}
	for _, s := range second.GetSpans() {
		check.That(t, s.SpanContext.SpanID() == b.SpanContext.SpanID() || len(s.Links) == 0, "span %q has a link", s.Name)
	}
	plain, want := counting()
	suspend(t, plain, nil, nil, t.Context)
	check.Equal(t, "writes with and without telemetry", writes.Load(), want.Load())
}

// Each part of a run has a link to the one before, not to the first. A new input to the run is another part.
func TestLinksGoToTheLast(t *testing.T) {
	store := record.NewMemory()
	first, second, third := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	suspend(t, store, first, second, t.Context)
	run(t, third.agent(t, play(says("Again.")), agent.Options{Name: "boss", Durable: agent.Durable{Store: store}}))
	got, want := third.span(t, "invoke_agent boss"), second.span(t, "invoke_agent boss")
	check.That(t, linksTo(got, want), "got the links %v, want one to %v", got.Links, want.SpanContext)
}

// linksTo reports whether a span has one link, to another span.
func linksTo(s, other tracetest.SpanStub) bool {
	return len(s.Links) == 1 && s.Links[0].SpanContext.SpanID() == other.SpanContext.SpanID() && s.Links[0].SpanContext.TraceID() == other.SpanContext.TraceID()
}

// A part of a run is a child of the caller's span.
func TestCallersSpan(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	var caller trace.SpanContext
	suspend(t, record.NewMemory(), newRecorder(t, otelagent.Options{}), r, func() context.Context {
		ctx, span := r.tracers.Tracer("").Start(t.Context(), "request")
		span.End()
		caller = span.SpanContext()
		return ctx
	})
	s := r.span(t, "invoke_agent boss")
	check.That(t, s.Parent.SpanID() == caller.SpanID() && len(s.Links) == 1, "got the parent %v and the links %v, want the caller %v", s.Parent, s.Links, caller)
}

// A resumed run that still waits does nothing, and has no span and no write.
func TestWaitingRunHasNoSpan(t *testing.T) {
	store, writes := counting()
	r := newRecorder(t, otelagent.Options{})
	a := r.agent(t, play(uses("1", "greet", "{}")), agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}, greet)
	run(t, a)
	r.Reset()
	before := writes.Load()
	check.Must(t, check.Err(a.Resume(t.Context(), talk)))
	check.Equal(t, "spans", len(r.GetSpans()), 0)
	check.Equal(t, "writes", writes.Load(), before)
}

// A context in a run that is not a trace makes no link.
func TestBrokenContext(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	for _, kept := range []map[string]string{nil, {}, {"traceparent": "nonsense"}, {"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"}} {
		_, end := r.telemetry.Invoke(t.Context(), &agent.Invocation{Trace: kept})
		end(nil)
	}
	for _, s := range r.GetSpans() {
		check.Equal(t, "links", len(s.Links), 0)
	}
}
