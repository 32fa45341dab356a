//go:build unix

package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

func postgres(t testing.TB) (dsn string) {
	t.Helper()
	server, err := testenv.StartPostgres()
	if errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	check.Must(t, err)
	t.Cleanup(server.Stop)
	return server.DSN("postgres")
}

// TestTwoServices has two services share a database. Each shows the events of runs that the other one works on, takes
// answers for them, and stops them. A client may change from one to the other within a stream.
func TestTwoServices(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "shared.db")
		twoServices(t, func(o *options) { o.store = file })
	})
	t.Run("Postgres", func(t *testing.T) {
		dsn := postgres(t)
		twoServices(t, func(o *options) { o.store = dsn })
	})
}

func twoServices(t *testing.T, share func(*options)) {
	var services [2]*service
	var people [2]person
	for i := range services {
		o := settings(t)
		o.temporal, o.rate = "", 60_000
		share(o)
		people[i] = person{t, start(t, o, func(s *service) { services[i] = s }), "demo-ada"}
	}
	for i, p := range people { // begun at each, and stopped where nothing works on it
		id := p.run("Count to 1000")
		for _, reader := range people {
			reader.follow(id, "", is("tool_start"))
		}
		other := people[1-worksOn(services, p.key(id))]
		eventually(t, fmt.Sprintf("run %d is stopped at another service", i), func() bool { // 503: try again
			code, _ := other.do("DELETE", "/runs/"+id, "", nil)
			check.Require(t, code == http.StatusAccepted || code == http.StatusServiceUnavailable,
				"run %d: stopped at another service: got %d, want 202", i, code)
			return code == http.StatusAccepted
		})
		for _, reader := range people {
			reader.follow(id, "", func(e event) bool { return e.Type == "refresh" && reader.state(id).Status == run.StatusCancelled })
		}
	}
	id := people[0].run("Book a table for 4 at Luigi")
	people[1].answer(id, people[1].settled(id).Asks[0].ID, `"action":"deny"`)
	all := people[0].follow(id, "", is("answer"))
	for i, e := range all[:len(all)-1] { // the client continues at the other service
		if e.id == "" {
			continue
		}
		got, want := ids(people[1].follow(id, e.id, is("answer"))), ids(all[i+1:])
		check.That(t, got == want, "after %s at the other service: got %q, want %q", e.id, got, want)
	}
	check.Equal(t, "a run that continues", people[0].state(id).Status, run.StatusFinished)
}

func (p person) key(id string) run.Key { return run.Key{Tenant: "ada", ID: id} }

func worksOn(services [2]*service, key run.Key) int {
	l := services[1].engine.(*local)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.working[key] != nil {
		return 1
	}
	return 0
}

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

// TestRefusedStop has another process that keeps a run and does not hear that it is to end: it ends when that process lets it go.
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
		check.Require(t, err == nil || errors.Is(err, record.ErrHeld), "%v", err)
		return err == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	go func() { refused <- s.engine.stop(ctx, p.key(id)) }()
	eventually(t, "the other process sees the request", func() bool {
		requests, err := s.store.CancelRequests(t.Context())
		_, isRequested := requests[p.key(id)]
		return err == nil && len(requests) == 1 && isRequested
	})
	cancel()
	check.Is(t, <-refused, record.ErrHeld)
	check.Must(t, s.store.Release(t.Context(), lease))
	check.NoError(t, s.engine.stop(t.Context(), p.key(id)))
	check.Equal(t, "status", p.state(id).Status, run.StatusCancelled)
}
