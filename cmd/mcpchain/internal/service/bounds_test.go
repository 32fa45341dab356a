package service

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demoservers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/internal/check"
)

// withTool serves an agent whose model calls a tool, which a person approves. The tokens of the users are their names.
func withTool(t testing.TB, o *options, model agent.Model, tool adapter.Source, users ...string) (url string, made *service) {
	t.Helper()
	own := map[string]string{}
	for _, user := range users {
		own[user] = user
	}
	url = start(t, o, func(s *service) {
		made = s
		s.close() // of the demo
		s.closers = nil
		s.users = tokens.New(own)
		check.Must(t, s.open(t.Context(), o))
		check.Must(t, s.createEngine(t.Context(), o, model, []adapter.Source{tool}))
	})
	return url, made
}

// gate is a tool whose calls wait until they are let go.
type gate struct {
	open chan struct{}

	mu        sync.Mutex // guards the fields below
	now, most int
}

func (g *gate) note(ctx context.Context, in struct {
	Text string `json:"text"`
}) (string, error) {
	if !strings.HasPrefix(in.Text, "wait") {
		return "noted", nil
	}
	g.mu.Lock()
	g.now++
	g.most = max(g.most, g.now)
	g.mu.Unlock()
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	return "waited", nil
}

func (g *gate) atWork() (now, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, g.most
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		check.Require(t, !time.Now().After(end), "never: %s", what)
	}
}

func (p person) allow(id string) {
	p.t.Helper()
	check.Equal(p.t, "the answer to "+id, p.answer(id, p.settled(id).Asks[0].ID, `"action":"allow"`), http.StatusNoContent)
}

// TestAnswersAreBounded answers more runs of a user than may be active. Others do not wait for them.
func TestAnswersAreBounded(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	tool := adapter.Func("note", "Notes a text.", g.note, &adapter.FuncOptions{Options: &adapter.Options{User: hosting.User}})
	url, _ := withTool(t, settings(t, "-running", "2", "-parallel", "3", "-rate", "60000"), script{time.Millisecond}, tool, "ada", "bob")
	ada, bob := person{t, url, "ada"}, person{t, url, "bob"}
	var runs []string
	for n := range 5 {
		runs = append(runs, ada.run(fmt.Sprint("wait ", n)))
		ada.settled(runs[n])
	}
	for _, id := range runs {
		ada.allow(id)
	}
	other := bob.run("note")
	bob.allow(other)
	bob.follow(other, "", is("answer"))
	eventually(t, "two calls of ada's", func() bool { now, _ := g.atWork(); return now == 2 })
	close(g.open)
	for _, id := range runs {
		ada.follow(id, "", is("answer"))
	}
	_, most := g.atWork()
	check.Equal(t, "runs of a user at once", most, 2)
}

// TestIdempotencyKey sends a request again, at once and after the end of its run.
func TestIdempotencyKey(t *testing.T) {
	url := start(t, settings(t), nil)
	ada, bob := person{t, url, "demo-ada"}, person{t, url, "demo-bob"}
	post := func(p person, key, input string) (code int, id string) {
		p.t.Helper()
		var begun struct{ Run string }
		code, _ = p.do("POST", "/runs", fmt.Sprintf(`{"input":%q}`, input), &begun, "Idempotency-Key", key)
		return code, begun.Run
	}
	ids := make(chan string, 8)
	var both sync.WaitGroup
	for range cap(ids) {
		both.Go(func() {
			code, id := post(person{aside{t}, url, "demo-ada"}, "one", "hi")
			ids <- fmt.Sprint(code, " ", id)
		})
	}
	both.Wait()
	close(ids)
	if len(ids) < cap(ids) {
		t.FailNow() // a request has failed
	}
	first := <-ids
	for id := range ids {
		check.Equal(t, "the one run", id, first)
	}
	id := strings.Fields(first)[1]
	ada.follow(id, "", is("answer"))
	code, again := post(ada, "one", "hi")
	check.That(t, code == http.StatusCreated && again == id, "after the end: got %d %s, want 201 %s", code, again, id)
	check.Equal(t, "messages: a question and an answer", len(ada.state(id).Messages), 2)
	code, _ = post(ada, "one", "another")
	check.That(t, code == http.StatusUnprocessableEntity, "another input: got %d, want 422", code)
	code, _ = post(ada, strings.Repeat("x", maxKey+1), "hi")
	check.That(t, code == http.StatusBadRequest, "a long key: got %d, want 400", code)
	for name, p := range map[string]person{"another key": ada, "another user": bob} {
		key := map[string]string{"another key": "two", "another user": "one"}[name]
		code, other := post(p, key, "hi")
		check.That(t, code == http.StatusCreated && (p != ada || other != id), "%s: got %d %s, want a run of its own", name, code, other)
	}
}

// TestStoredRuns bounds what is kept of a user, and deletes what is over.
func TestStoredRuns(t *testing.T) {
	var s *service
	url := start(t, settings(t, "-stored", "2"), func(made *service) { s = made })
	ada, bob := person{t, url, "demo-ada"}, person{t, url, "demo-bob"}
	over, asking := ada.run("hi"), ada.run("Book a table for 4 at Luigi")
	ada.follow(over, "", is("answer"))
	ada.settled(asking)
	check.Equal(t, "a third run", ada.code("POST", "/runs", `{"input":"hi"}`), http.StatusTooManyRequests)
	check.Equal(t, "forget a run that waits", ada.code("DELETE", "/runs/"+asking+"?forget=true", ""), http.StatusConflict)
	check.Equal(t, "forget=yes", ada.code("DELETE", "/runs/"+asking+"?forget=yes", ""), http.StatusBadRequest)
	check.Equal(t, "forget a run", ada.code("DELETE", "/runs/"+over+"?forget=true", ""), http.StatusNoContent)
	check.Equal(t, "a run that is forgotten", ada.code("GET", "/runs/"+over, ""), http.StatusNotFound)
	bob.follow(bob.run("hi"), "", is("answer"))
	eventually(t, "bob's run is let go, and deleted", func() bool {
		return check.Value(record.DeleteEnded(t.Context(), s.store, record.Query{AllTenants: true}))(t) == 1
	})
	check.Equal(t, "a run that waits", ada.state(asking).Status, run.StatusWaiting)
}

// slowDrive is an engine that does not drive runs before open is closed.
type slowDrive struct {
	engine
	open chan struct{}
}

func (e *slowDrive) drive(ctx context.Context, key run.Key) {
	<-e.open
	e.engine.drive(ctx, key)
}

// TestSlowDrive has Temporal be away: another run of the user is stored meanwhile.
func TestSlowDrive(t *testing.T) {
	slow := &slowDrive{open: make(chan struct{})}
	var s *service
	url := start(t, settings(t), func(made *service) { s, slow.engine, made.engine = made, made.engine, slow })
	var beginning sync.WaitGroup
	for range 2 {
		beginning.Go(func() { person{aside{t}, url, "demo-ada"}.run("hi") })
	}
	eventually(t, "both are stored", func() bool {
		n, err := s.store.Count(t.Context(), record.Query{Tenant: "ada"})
		return err == nil && n == 2
	})
	close(slow.open)
	beginning.Wait()
}

// slowCount is a store that counts slowly: each count is told to begun, and waits for open.
type slowCount struct {
	sqlstore.Store
	begun, open chan struct{}
}

func (s *slowCount) Count(ctx context.Context, q record.Query) (int, error) {
	n, err := s.Store.Count(ctx, q)
	if q.Tenant == "ada" && q.Status == "" {
		s.begun <- struct{}{}
		<-s.open
	}
	return n, err
}

// TestSlowStart has two runs of a user begin at once, with room for one: the other one waits, and is refused.
func TestSlowStart(t *testing.T) {
	slow := &slowCount{begun: make(chan struct{}, 2), open: make(chan struct{})}
	url := start(t, settings(t, "-stored", "1", "-rate", "60000"), func(made *service) { slow.Store, made.store = made.store, slow })
	codes := make(chan int, 2)
	for range cap(codes) {
		go func() { codes <- person{aside{t}, url, "demo-ada"}.code("POST", "/runs", `{"input":"hi"}`) }()
	}
	<-slow.begun
	select {
	case <-slow.begun:
		t.Error("the second run does not wait for the first one")
	case <-time.After(100 * time.Millisecond):
	}
	close(slow.open)
	got := []int{<-codes, <-codes}
	slices.Sort(got)
	check.Same(t, "answers", got, []int{http.StatusCreated, http.StatusTooManyRequests})
}

// TestServersOfAFile has a server of a file that calls itself as the demo server, and its tool read-only.
func TestServersOfAFile(t *testing.T) {
	file := inFile(t, "mcp.json", fmt.Sprintf(`{"mcpServers":{"demo":{"url":%q}}}`, demoServer(t, 1)))
	p := person{t, start(t, settings(t, "-config", file, "-user-header", demoservers.UserHeader), nil), "demo-ada"}
	id := p.run("call whoami")
	got := p.settled(id)
	check.Require(t, got.Status == run.StatusWaiting && len(got.Asks) == 1 && got.Asks[0].Server == "demo", "got %s with %v, want a question", got.Status, got.Asks)
	p.allow(id)
	all := p.follow(id, "", is("answer"))
	check.That(t, slices.ContainsFunc(all, func(e event) bool { return strings.Contains(e.data, "the user ada.") }),
		"the server of the file was not told the user")
}
