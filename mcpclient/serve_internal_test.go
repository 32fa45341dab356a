package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The error for an answer that does not fit a form does not reveal the answer.
func TestMisfitIsNotTold(t *testing.T) {
	p := &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: []byte(`{"type":"object","properties":{"age":{"type":"integer"}}}`)}
	_, err := forms.Complete(p, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"my-secret": 1}})
	if err == nil || !strings.Contains(err.Error(), "my-secret") {
		t.Fatalf("got %v, want the field", err)
	}
	wire := string(responseTo([]byte("1"), nil, err))
	if want := `{"code":-32603,"message":"the answer does not fit the form"}`; !strings.Contains(wire, want) {
		t.Errorf("got %s, want %s", wire, want)
	}
}

// The error of a handler does not look like the outcome of the call.
func TestAbandonedTellsRejectionOnly(t *testing.T) {
	met := fmt.Errorf("look up: %w: %w: %w", ErrClosed, context.DeadlineExceeded, &mcp.RPCError{Code: 1})
	for _, err := range []error{met, fmt.Errorf("%w: %w", mcp.ErrRejected, met)} {
		got := abandoned("sampling/createMessage", err)
		var rpc *mcp.RPCError
		if errors.Is(got, ErrClosed) || errors.Is(got, context.DeadlineExceeded) || errors.As(got, &rpc) {
			t.Errorf("got %v, which is what the handler met", got)
		}
		if errors.Is(got, mcp.ErrRejected) != errors.Is(err, mcp.ErrRejected) || !strings.Contains(got.Error(), err.Error()) {
			t.Errorf("got %v, want the text of %v", got, err)
		}
	}
}

func TestNullToolIsRefused(t *testing.T) {
	a := &answerer{peer: &peer{offers: offers{sampling: &mcp.SamplingCapability{Tools: true}}}}
	_, err := a.createMessage(t.Context(), []byte(`{"maxTokens":1,"messages":[],"tools":[null]}`))
	if e := wireError(err); e.Code != mcp.CodeInvalidParams {
		t.Errorf("got %v, want code %d", err, mcp.CodeInvalidParams)
	}
}

// newLife returns a lifecycle with a timeout of a second.
func newLife(t *testing.T) *lifecycle.Lifecycle {
	return lifecycle.New(t.Context(), lifecycle.Options{Closed: ErrClosed, Ended: ended, Timeout: time.Second, Log: silent})
}

// inLife runs f with a lifecycle in a bubble.
func inLife(t *testing.T, f func(t *testing.T, l *lifecycle.Lifecycle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		f(t, l)
		endLife(l)
	})
}

// endLife closes a lifecycle and waits for its goroutines.
func endLife(l *lifecycle.Lifecycle) {
	l.Close(func() {}, func() error { return nil })
	<-l.Done()
}

// Questions are answered concurrently, in as many slots as there are. The first failure or the
// end of the client ends them all.
func TestGatherer(t *testing.T) {
	answers := map[string]json.RawMessage{"a": json.RawMessage(`"slow"`), "b": json.RawMessage(`"slow"`)}
	for name, test := range map[string]struct {
		methods map[string]string // by key
		slots   int
		nested  bool // the call belongs to a handler that holds the only slot
		close   bool
		want    map[string]json.RawMessage
		err     string
		took    time.Duration
	}{
		"at once":         {methods: map[string]string{"a": "slow", "b": "slow"}, slots: 2, want: answers, took: time.Second},
		"in turn":         {methods: map[string]string{"a": "slow", "b": "slow"}, slots: 1, want: answers, took: 2 * time.Second},
		"nested":          {methods: map[string]string{"a": "slow", "b": "slow"}, slots: 1, nested: true, want: answers, took: time.Second},
		"failure":         {methods: map[string]string{"a": "slow", "b": "broken"}, slots: 2, err: "broken of the server: oops"},
		"client closed":   {methods: map[string]string{"a": "stuck"}, slots: 1, close: true, err: ErrClosed.Error(), took: time.Minute},
		"no slot is free": {methods: map[string]string{"a": "slow", "b": "stuck", "c": "stuck"}, slots: 1, close: true, err: ErrClosed.Error(), took: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inLife(t, func(t *testing.T, l *lifecycle.Lifecycle) {
				release := make(chan bool)
				defer close(release)
				g := &gatherer{peer: &peer{life: l}, slots: lifecycle.NewSlots(test.slots), handle: func(_ context.Context, method string, _ json.RawMessage, _ mcp.Origin) (json.RawMessage, error) {
					switch method {
					case "broken":
						return nil, errors.New("oops")
					case "stuck":
						<-release
					}
					time.Sleep(time.Second)
					return json.RawMessage(`"slow"`), nil
				}}
				ctx := t.Context()
				if test.nested {
					g.slots.TryAcquire()
					ctx = context.WithValue(ctx, servingKey{g.slots}, true)
				}
				if test.close {
					time.AfterFunc(time.Minute, func() { l.Close(func() {}, func() error { return nil }) })
				}
				questions := map[string]mcp.InputRequest{}
				for key, method := range test.methods {
					questions[key] = mcp.InputRequest{Method: method}
				}
				start := time.Now()
				got, err := g.gather(ctx, questions, mcp.CallInfo{})
				if took := time.Since(start); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				if diff := cmp.Diff(got, test.want); diff != "" {
					t.Errorf("got -, want +:\n%s", diff)
				}
				synctest.Wait()
			})
		})
	}
}

// The first answers of a process have less time than those of a server where a person may have
// to log in.
func TestConnectTimeoutDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, transport := range map[time.Duration]Transport{time.Minute: new(Command), 10 * time.Minute: new(HTTP)} {
			ctx, cancel := (&connector{opts: new(Options), negotiator: negotiator{transport: transport}}).connecting(t.Context())
			defer cancel()
			if end, ok := ctx.Deadline(); !ok || time.Until(end) != want {
				t.Errorf("%T: got %v, want %v", transport, time.Until(end), want)
			}
		}
	})
}

// Times for later comparison have a monotonic clock reading: if the wall clock is set, cached results
// and eras live neither longer nor shorter.
func TestClockJumps(t *testing.T) {
	c := new(Client)
	c.cache.put(&request{method: "tools/list"}, []byte(`{"ttlMs":60000}`), 0, 1<<20)
	if len(c.cache.entries) != 1 {
		t.Fatal("the result was not kept")
	}
	for _, e := range c.cache.entries {
		wantSteady(t, "the end of a cached result", e.expires)
	}

	eras := new(EraCache)
	eras.keep(&HTTP{URL: "https://example.com"}, mcp.Revision20251125)
	for _, found := range eras.known {
		wantSteady(t, "the beginning of a remembered era", found.Since)
	}
	if got := eras.find(&HTTP{URL: "https://example.com"}); got != mcp.Revision20251125 {
		t.Errorf("got the revision %q, want the one that was kept", got)
	}

	rounds := inputRounds{questioner: &gatherer{peer: &peer{life: newLife(t)}}}
	if err := rounds.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSteady(t, "the first time that a call was deferred", rounds.deferred)
}

func wantSteady(t *testing.T, what string, at time.Time) {
	t.Helper()
	if at == at.Round(0) { // Round strips the monotonic reading
		t.Errorf("%s: %v has no monotonic clock reading", what, at)
	}
}

// pingedConn is a connection whose state a test sets.
type pingedConn struct {
	busyAt int           // the check at which it is not idle, counted from 1; 0 for none
	wait   time.Duration // before a ping returns
	err    error         // that it returns

	looks, ended int
}

func (p *pingedConn) idle() bool        { p.looks++; return p.looks != p.busyAt }
func (p *pingedConn) end(time.Duration) { p.ended++ }

func (p *pingedConn) ping(ctx context.Context) error {
	select {
	case <-time.After(p.wait):
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Only an idle connection whose server does not answer in time is ended.
func TestKeepAliveEnds(t *testing.T) {
	for name, test := range map[string]struct {
		conn pingedConn
		want int
	}{
		"answered":     {pingedConn{wait: 29 * time.Second}, 0},
		"refused":      {pingedConn{err: errors.New("no")}, 0},
		"mute":         {pingedConn{wait: time.Hour}, 1},
		"busy":         {pingedConn{wait: time.Hour, busyAt: 1}, 0},
		"busy by then": {pingedConn{wait: time.Hour, busyAt: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
				defer cancel()
				keepAlive(ctx, 30*time.Second, func() pinged { return &test.conn })
				if test.conn.ended != test.want {
					t.Errorf("it was ended %d times, want %d", test.conn.ended, test.want)
				}
			})
		})
	}
}
