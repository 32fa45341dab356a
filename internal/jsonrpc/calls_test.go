package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
)

func ignore(json.RawMessage) {}

func start(t *Calls, value any, maxNotes int) (*Call, error) {
	c := &Call{Value: value}
	return c, t.Start(c, maxNotes)
}

func TestCallsResolve(t *testing.T) {
	var calls Calls
	a := check.Value(start(&calls, "a", 0))(t)
	b, err := start(&calls, "b", 0)
	check.Require(t, err == nil && a.ID != b.ID, "got ids %d and %d, %v", a.ID, b.ID, err)
	check.Equal(t, "pending calls", len(calls.Pending()), 2)
	check.That(t, calls.Resolve(b.ID, Response{Result: raw(`"of b"`)}) && calls.Fail(a.ID, errors.New("of a")), "the calls were not found")
	check.That(t, !calls.Resolve(b.ID, Response{}) && !calls.Resolve(99, Response{}), "resolved a call that does not wait")
	for id, want := range map[int64]bool{0: false, a.ID: true, b.ID: true, 99: false} {
		check.Equal(t, id, calls.Started(id), want)
	}
	check.Equal(t, "", string(check.Value(b.Wait(t.Context(), ignore))(t).Result), `"of b"`)
	check.Text(t, check.Err(a.Wait(t.Context(), ignore)), "of a")
}

func TestCallsForget(t *testing.T) {
	var calls Calls
	c := check.Value(start(&calls, nil, 0))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(c.Wait(ctx, ignore)), context.Canceled)
	calls.Forget(c)
	_, ok := calls.Find(c.ID)
	check.That(t, !ok && !calls.Resolve(c.ID, Response{}), "found a call that was forgotten")
}

func TestCallsClose(t *testing.T) {
	var calls Calls
	c := check.Value(start(&calls, nil, 0))(t)
	over := errors.New("over")
	calls.Close(over)
	calls.Close(errors.New("again"))
	check.Equal(t, "", check.Err(c.Wait(t.Context(), ignore)), over)
	check.Equal(t, "", check.Err(start(&calls, nil, 0)), over)
}

func TestCallNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		c := check.Value(start(&calls, nil, 2))(t)
		var got []string
		var wg sync.WaitGroup
		wg.Go(func() {
			check.NoError(t, check.Err(c.Wait(t.Context(), func(n json.RawMessage) { got = append(got, string(n)) })))
		})
		synctest.Wait()
		c.AddNote(raw("1"))
		synctest.Wait()
		c.AddNote(raw("2"))
		c.AddNote(raw("3"))
		c.AddNote(raw("4"))
		calls.Resolve(c.ID, Response{Result: raw("1")})
		wg.Wait()
		// The waiting call may see 2 before it is dropped, and sees the rest in order.
		n := len(got)
		check.That(t, n >= 3 && got[0] == "1" && got[n-2] == "3" && got[n-1] == "4", "got notes %q, want 1, 3, 4 with 2 perhaps", got)
	})
}

func TestCallNotesDropOldest(t *testing.T) {
	var calls Calls
	c := check.Value(start(&calls, nil, 2))(t)
	for _, n := range []string{"1", "2", "3"} {
		c.AddNote(raw(n))
	}
	wantResponse := func(when string, want bool) {
		t.Helper()
		_, ok, _ := c.Response()
		check.Equal(t, when, ok, want)
	}
	wantResponse("before there was one", false)
	calls.Resolve(c.ID, Response{})
	wantResponse("before the notes were seen", false)
	var got []string
	c.takeNotes(func(n json.RawMessage) { got = append(got, string(n)) })
	check.Same(t, "notes", got, []string{"2", "3"})
	wantResponse("once the notes were seen", true)
}

func TestCallsConcurrently(t *testing.T) {
	var calls Calls
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 100 {
				c, err := start(&calls, nil, 4)
				if err != nil {
					t.Error(err)
					return
				}
				wg.Go(func() {
					c.AddNote(raw("1"))
					calls.Resolve(c.ID, Response{Result: raw("1")})
				})
				check.NoError(t, check.Err(c.Wait(t.Context(), ignore)))
				calls.Forget(c)
			}
		})
	}
	wg.Wait()
	check.Equal(t, "calls left", len(calls.Pending()), 0)
}
