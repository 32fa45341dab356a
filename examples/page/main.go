// Page serves an agent on a page of this machine. Each window follows the events of a run by package agent/feed, and
// continues where it stopped after a reload.
//
//	OPENAI_MODEL=gpt-5 go run ./examples/page mcp.json
//
// OPENAI_API_KEY is the key; OPENAI_BASE_URL names another provider than OpenAI. Runs end with the program, unless you use
// a store of agent/filestore or agent/sqlstore. "mcpchain serve" is a page with users, forms and views.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/hosttext"
)

//go:embed index.html
var index []byte

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: page MCP.JSON")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8090")
	if err == nil {
		err = serve(ctx, listener, os.Args[1])
	}
	if err != nil {
		log.Fatal(hosttext.Line(err.Error(), 4000))
	}
}

// serve serves the page until the context ends.
func serve(ctx context.Context, listener net.Listener, file string) error {
	host, err := mcpchain.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	defer host.Close()
	a, err := host.Agent(nil, &agent.Options{
		Durable: agent.Durable{Store: record.NewMemory()},
		Person:  agent.Person{Approve: agent.AskPerson},
	})
	if err != nil {
		return err
	}
	p := &page{agent: a, feed: feed.New(&feed.Options{Replay: a.Replay}), work: ctx}
	defer p.driving.Wait()
	server := &http.Server{Handler: p.handler(listener.Addr().String()), BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	log.Printf("The page is at http://%s/ until Ctrl-C.", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// page has an agent and the event streams of its runs.
type page struct {
	agent   *agent.Agent
	feed    *feed.Feed
	work    context.Context // for the runs, which continue without a window
	driving sync.WaitGroup
}

// handler serves the page. It refuses requests of other pages, and by other names of this address.
func (p *page) handler(address string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(index) })
	mux.HandleFunc("POST /runs", p.begin)
	mux.HandleFunc("GET /runs/{id}/events", func(w http.ResponseWriter, r *http.Request) { p.feed.Serve(w, r, keyOf(r)) })
	mux.HandleFunc("POST /runs/{id}/answers", p.answer)
	own := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address {
			http.Error(w, "unknown host", http.StatusForbidden)
			return
		}
		own.ServeHTTP(w, r)
	})
}

func keyOf(r *http.Request) run.Key { return run.Key{ID: r.PathValue("id")} }

// maxBody bounds the body of a request in bytes.
const maxBody = 64 << 10

// begin begins a run with a question, and responds with its id.
func (p *page) begin(w http.ResponseWriter, r *http.Request) {
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, err)
		return
	}
	key, err := p.agent.Begin(r.Context(), agent.Text(string(question)))
	if err != nil {
		refuse(w, err)
		return
	}
	p.drive(key)
	_, _ = io.WriteString(w, key.ID)
}

// answer answers a question of a run, which then continues.
func (p *page) answer(w http.ResponseWriter, r *http.Request) {
	var a run.Reply
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&a)
	if err == nil {
		err = p.agent.Reply(r.Context(), keyOf(r), a)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	p.drive(keyOf(r))
}

// refuse responds to a request with the reason why it was not accepted.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), status)
}

// drive continues a run, and publishes its events. If the run is already being driven, it finds new answers by itself.
func (p *page) drive(key run.Key) {
	p.driving.Go(func() {
		for event, err := range p.agent.ResumeEvents(p.work, key) {
			if errors.Is(err, record.ErrHeld) {
				return
			}
			if err != nil {
				log.Print(hosttext.Line(err.Error(), 1000))
				break
			}
			p.feed.Publish(key, event)
		}
		p.feed.NotifyStopped(key)
	})
}
