//go:build unix

package service

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestOperatorCancels has the command line end a run that the service works on.
func TestOperatorCancels(t *testing.T) {
	o := settings(t)
	o.temporal = ""
	p := person{t, start(t, o, func(*service) {}), "demo-ada"}
	id := p.run("Count to 1000")
	p.follow(id, "", is("tool_start"))
	key := p.key(id)
	status := operate([]string{"cancel", key.Tenant + "/" + key.ID, "-store", o.store}, nil, io.Discard)
	check.Require(t, status == 0, "got status %d", status)
	p.follow(id, "", func(e event) bool { return e.Type == "refresh" && p.state(id).Status == run.StatusCancelled })
}

// TestRefusedStop has another process that keeps a run and does not hear that it is to end: it ends
// when that process lets it go.
func TestRefusedStop(t *testing.T) {
	o := settings(t)
	o.temporal = ""
	var s *service
	p := person{t, start(t, o, func(made *service) { s = made }), "demo-ada"}
	id := p.run("Book a table for 4 at Luigi")
	p.settled(id)
	var lease record.Lease
	eventually(t, "the run is free", func() (free bool) {
		var err error
		lease, err = s.store.Acquire(t.Context(), p.key(id), record.Holder{Name: "other", TTL: time.Hour})
		if err != nil && !errors.Is(err, record.ErrHeld) {
			t.Fatal(err)
		}
		return err == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	go func() { refused <- s.engine.stop(ctx, p.key(id)) }()
	eventually(t, "the other process sees the request", func() bool {
		requests, err := s.store.CancelRequests(t.Context())
		return err == nil && len(requests) == 1 && requests[0].Key == p.key(id)
	})
	cancel()
	check.Is(t, <-refused, record.ErrHeld)
	check.Must(t, s.store.Release(t.Context(), lease))
	if err := s.engine.stop(t.Context(), p.key(id)); err != nil || p.state(id).Status != run.StatusCancelled {
		t.Errorf("got %v, %s, want a stop", err, p.state(id).Status)
	}
}
