package service

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

// peopleAtOneServer is a service whose users share the reference server of npm over standard input
// and output. Its model calls the tool that asks for a name.
type peopleAtOneServer struct {
	*testing.T
	url    string
	log    *passedLog
	script string // of the server
}

func openPeople(t *testing.T, users, processes int) *peopleAtOneServer {
	t.Helper()
	set := testenv.InstallNPM(t, os.DirFS(filepath.Join("..", "..", "..", "..", "evals", "interop", "testdata", "npm")))
	host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
		body := string(r.Body)
		if i := strings.Index(body, "- Name: "); i >= 0 {
			name, _, _ := strings.Cut(body[i+len("- Name: "):], `\n`)
			return []fakehost.Block{{Type: "text", Text: "Hello, " + name + "."}}
		}
		if strings.Contains(body, `"call_1"`) {
			return []fakehost.Block{{Type: "text", Text: "No name came: " + body}}
		}
		return []fakehost.Block{{Type: "call", ID: "call_1", Name: "trigger-elicitation-request", Arguments: `{}`}}
	}}
	model := httptest.NewServer(host)
	t.Cleanup(model.Close)
	t.Setenv("OPENAI_API_KEY", "key-1")
	p := &peopleAtOneServer{T: t, log: &passedLog{make(chan string, 1000)}, script: set.Module("@modelcontextprotocol/server-everything/dist/index.js")}
	var all strings.Builder
	for i := range users {
		fmt.Fprintf(&all, "user%d %s\n", i, token(i))
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"everything": map[string]any{"command": set.Node(), "args": []string{p.script, "stdio"}}}})
	check.Must(t, err)
	o := settings(t, "-config", inFile(t, "mcp.json", string(servers)), "-users", inFile(t, "users", all.String()), "-processes", fmt.Sprint(processes), "-rate", "600000", "-host", "openai", "-model", "gpt-5.6-sol", "-base-url", model.URL+"/v1")
	p.url = startLogging(t, o, slog.New(slog.NewTextHandler(p.log, nil)))
	return p
}

func token(user int) string { return fmt.Sprintf("token-of-the-user-%04d", user) }

func (p *peopleAtOneServer) logged(text string) {
	p.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line := <-p.log.written:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			p.Fatalf("the log has no line with %q", text)
		}
	}
}

// asks begins a run of a user and allows its call. It returns the run once its form is open.
func (p *peopleAtOneServer) asks(user int) (id, form string, waited bool) {
	who := person{aside{p.T}, p.url, token(user)}
	id = who.run("Ask me for my name")
	who.answer(id, who.settled(id).Asks[0].ID, `"action":"allow"`)
	who.follow(id, "", func(e event) bool {
		waited = waited || strings.Contains(e.data, "all ") && strings.Contains(e.data, "are in use")
		return e.Type == "asked" && strings.Contains(e.data, `"form"`)
	})
	return id, who.state(id).Asks[0].ID, waited
}

// answers answers the form of a run, and wants the answer in its result.
func (p *peopleAtOneServer) answers(user int, id, form, name string) {
	who := person{aside{p.T}, p.url, token(user)}
	if code := who.answer(id, form, fmt.Sprintf(`"action":"accept","content":{"name":%q}`, name)); code != 204 {
		p.Errorf("answer of %s: got %d", name, code)
	}
	who.follow(id, "", is("answer"))
	if got, want := who.state(id), "Hello, "+name+"."; got.Status != run.StatusFinished || got.Answer != want {
		p.Errorf("got %s %q, want %q", got.Status, got.Answer, want)
	}
}

// TestPeopleAtOneServer has two users with two runs each, whose forms are open at the same time: each answer reaches its own
// call. When the processes of the server are killed, the next calls work.
func TestPeopleAtOneServer(t *testing.T) {
	p := openPeople(t, 2, 10)
	type open struct{ id, form string }
	var all [4]open
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { all[i].id, all[i].form, _ = p.asks(i % 2) })
	}
	group.Wait()
	for i, o := range all {
		group.Go(func() { p.answers(i%2, o.id, o.form, fmt.Sprint("Ada ", i)) })
	}
	group.Wait()
	check.Require(t, testenv.KillChildren(t, p.script) != 0, "the server has no process")
	p.logged("a server is lost")
	p.logged("a server is connected")
	id, form, _ := p.asks(0)
	p.answers(0, id, form, "Grace")
}

// TestManyPeopleAtOneServer has more users than processes: each waits for a turn, is told so, and gets it.
func TestManyPeopleAtOneServer(t *testing.T) {
	users, processes := 9, 3
	if testenv.Soak() {
		users, processes = 50, 10
	}
	p := openPeople(t, users, processes)
	var waited, open, most int
	var mu sync.Mutex
	all := make(chan struct{}) // processes are in use
	full := sync.OnceFunc(func() { close(all) })
	var group sync.WaitGroup
	for i := range users {
		group.Go(func() {
			id, form, had := p.asks(i)
			mu.Lock()
			if open++; had {
				waited++
			}
			if most = max(most, open); open == processes {
				full()
			}
			mu.Unlock()
			<-all
			mu.Lock()
			open-- // before the answer lets another user in
			mu.Unlock()
			p.answers(i, id, form, fmt.Sprint("Ada ", i))
		})
	}
	group.Wait()
	check.That(t, most <= processes && waited != 0,
		"got %d forms at a time and %d who were told that they wait, want %d at most and some", most, waited, processes)
}
