package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
