package otelagent_test

import (
	"context"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// counting counts what is written to a store.
type counting struct {
	record.Store
	writes atomic.Int32
}

func (c *counting) Append(ctx context.Context, l record.Lease, h runs.Head, records []runs.Record, answers ...runs.Reply) error {
	c.writes.Add(1)
	return c.Store.Append(ctx, l, h, records, answers...)
}

var talk = runs.Key{ID: "talk"}

// suspend runs an agent up to a question, which it answers, and continues it in another
// process, which has another recorder. Each gets a call of ctx for its context.
func suspend(t *testing.T, store record.Store, first, second *recorder, ctx func() context.Context) {
	t.Helper()
	greet := adapter.Func("greet", "", func(context.Context, struct{}) (string, error) { return "Hello.", nil }, nil)
	options := agent.Options{Name: "boss", Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}
	result, err := first.agent(t, play(uses("1", "greet", "{}")), options, greet).Run(ctx(), agent.Text("Hi"), agent.WithRun(talk.ID))
	if err != nil || len(result.Questions) != 1 {
		t.Fatalf("got %+v, %v, want a question", result, err)
	}
	if result, err = second.agent(t, play(says("Done.")), options, greet).Resume(ctx(), talk, result.Questions[0].Allow()); err != nil || result.Output != "Done." {
		t.Fatalf("got %+v, %v", result, err)
	}
}

// A suspended run is two traces of one conversation, and the second has a link to the
// first. The context in between takes no write of its own.
func TestSuspendedRun(t *testing.T) {
	first, second := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	store := &counting{Store: record.NewMemory()}
	suspend(t, store, first, second, t.Context)
	a, b := first.span(t, "invoke_agent boss"), second.span(t, "invoke_agent boss")
	if a.SpanContext.TraceID() == b.SpanContext.TraceID() || b.Parent.IsValid() {
		t.Errorf("got the trace %v twice, or the parent %v, want two traces", a.SpanContext.TraceID(), b.Parent)
	}
	if len(a.Links) != 0 || len(b.Links) != 1 || b.Links[0].SpanContext.SpanID() != a.SpanContext.SpanID() ||
		b.Links[0].SpanContext.TraceID() != a.SpanContext.TraceID() {
		t.Errorf("got the links %v and %v, want one to %v", a.Links, b.Links, a.SpanContext)
	}
	for _, r := range []*recorder{first, second} {
		for _, s := range r.GetSpans() {
			if got := attributes(s.Attributes)["gen_ai.conversation.id"]; got != talk.ID {
				t.Errorf("span %q has the conversation %q", s.Name, got)
			}
		}
	}
	for _, s := range second.GetSpans() {
		if s.SpanContext.SpanID() != b.SpanContext.SpanID() && len(s.Links) != 0 {
			t.Errorf("span %q has a link", s.Name)
		}
	}
	plain := &counting{Store: record.NewMemory()}
	suspend(t, plain, nil, nil, t.Context)
	if got, want := store.writes.Load(), plain.writes.Load(); got != want {
		t.Errorf("got %d writes, and %d without telemetry", got, want)
	}
}

// Each part of a run has a link to the one before, not to the first. A new input to the run
// is another part.
func TestLinksGoToTheLast(t *testing.T) {
	store := record.NewMemory()
	first, second, third := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	suspend(t, store, first, second, t.Context)
	run(t, third.agent(t, play(says("Again.")), agent.Options{Name: "boss", Durable: agent.Durable{Store: store}}))
	got, want := third.span(t, "invoke_agent boss").Links, second.span(t, "invoke_agent boss").SpanContext
	if len(got) != 1 || got[0].SpanContext.SpanID() != want.SpanID() {
		t.Errorf("got the links %v, want one to %v", got, want)
	}
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
	if s := r.span(t, "invoke_agent boss"); s.Parent.SpanID() != caller.SpanID() || len(s.Links) != 1 {
		t.Errorf("got the parent %v and the links %v, want the caller %v", s.Parent, s.Links, caller)
	}
}

// A resumed run that still waits does nothing, and has no span and no write.
func TestWaitingRunHasNoSpan(t *testing.T) {
	store := &counting{Store: record.NewMemory()}
	r := newRecorder(t, otelagent.Options{})
	greet := adapter.Func("greet", "", func(context.Context, struct{}) (string, error) { return "Hello.", nil }, nil)
	a := r.agent(t, play(uses("1", "greet", "{}")), agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}, greet)
	run(t, a)
	r.Reset()
	before := store.writes.Load()
	check.Must(t, check.Err(a.Resume(t.Context(), talk)))
	if n := len(r.GetSpans()); n != 0 || store.writes.Load() != before {
		t.Errorf("got %d spans and %d writes", n, store.writes.Load()-before)
	}
}

// A context in a run that is not a trace makes no link.
func TestBrokenContext(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	for _, kept := range []map[string]string{nil, {}, {"traceparent": "nonsense"}, {"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"}} {
		_, end := r.telemetry.Invoke(t.Context(), &agent.Invocation{Before: kept})
		end(nil)
	}
	for _, s := range r.GetSpans() {
		if len(s.Links) != 0 {
			t.Errorf("got the links %v", s.Links)
		}
	}
}
