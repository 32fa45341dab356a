package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
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
	a, err := start(&calls, "a", 0)
	check.Must(t, err)
	b, err := start(&calls, "b", 0)
	if err != nil || a.ID == b.ID {
		t.Fatalf("got ids %d and %d, %v", a.ID, b.ID, err)
	}
	check.Equal(t, "pending calls", len(calls.Pending()), 2)
	if !calls.Resolve(b.ID, Response{Result: raw(`"of b"`)}) || !calls.Fail(a.ID, errors.New("of a")) {
		t.Error("the calls were not found")
	}
	if calls.Resolve(b.ID, Response{}) || calls.Resolve(99, Response{}) {
		t.Error("resolved a call that does not wait")
	}
	for id, want := range map[int64]bool{0: false, a.ID: true, b.ID: true, 99: false} {
		if got := calls.Started(id); got != want {
			t.Errorf("id %d: got started %v, want %v", id, got, want)
		}
	}
	if m, err := b.Wait(t.Context(), ignore); err != nil || string(m.Result) != `"of b"` {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := a.Wait(t.Context(), ignore); err == nil || err.Error() != "of a" {
		t.Errorf("got %v, want the error of a", err)
	}
}

func TestCallsForget(t *testing.T) {
	var calls Calls
	c, err := start(&calls, nil, 0)
	check.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(c.Wait(ctx, ignore)), context.Canceled)
	calls.Forget(c)
	if calls.Resolve(c.ID, Response{}) {
		t.Error("resolved a call that was forgotten")
	}
	if _, ok := calls.Find(c.ID); ok {
		t.Error("found a call that was forgotten")
	}
}

func TestCallsClose(t *testing.T) {
	var calls Calls
	c, err := start(&calls, nil, 0)
	check.Must(t, err)
	over := errors.New("over")
	calls.Close(over)
	calls.Close(errors.New("again"))
	check.Equal(t, "", check.Err(c.Wait(t.Context(), ignore)), over)
	check.Equal(t, "", check.Err(start(&calls, nil, 0)), over)
}

func TestCallNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		c, err := start(&calls, nil, 2)
		check.Must(t, err)
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
		if n := len(got); n < 3 || got[0] != "1" || got[n-2] != "3" || got[n-1] != "4" {
			t.Errorf("got notes %q, want 1, 3, 4 with 2 perhaps", got)
		}
	})
}

func TestCallNotesDropOldest(t *testing.T) {
	var calls Calls
	c, err := start(&calls, nil, 2)
	check.Must(t, err)
	for _, n := range []string{"1", "2", "3"} {
		c.AddNote(raw(n))
	}
	if _, ok, _ := c.Response(); ok {
		t.Error("a response before there was one")
	}
	calls.Resolve(c.ID, Response{})
	if _, ok, _ := c.Response(); ok {
		t.Error("the response overtook the notes")
	}
	var got []string
	c.takeNotes(func(n json.RawMessage) { got = append(got, string(n)) })
	if len(got) != 2 || got[0] != "2" || got[1] != "3" {
		t.Errorf("got %q, want 2 and 3", got)
	}
	if _, ok, _ := c.Response(); !ok {
		t.Error("no response once the notes were seen")
	}
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

// Pending lists the waiting calls, and makes no new list while they are the same.
func TestPending(t *testing.T) {
	var calls Calls
	want := func(when string, all ...*Call) {
		t.Helper()
		got := calls.Pending()
		check.Equal(t, when, len(got), len(all))
		for _, c := range all {
			if !slices.Contains(got, c) {
				t.Errorf("%s: call %d is missing", when, c.ID)
			}
		}
	}
	var a, b, c Call
	want("none")
	for _, call := range []*Call{&a, &b, &c} {
		check.Must(t, calls.Start(call, 0))
	}
	want("three", &a, &b, &c)
	if n := testing.AllocsPerRun(10, func() { calls.Pending() }); n > 0 {
		t.Errorf("got %v allocations for the same calls, want none", n)
	}
	calls.Resolve(a.ID, Response{})
	want("without the first", &b, &c)
	calls.Forget(&c)
	want("without the last", &b)
	calls.Close(errors.New("closed"))
	want("closed")
}
