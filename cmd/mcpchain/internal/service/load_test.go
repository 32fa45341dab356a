package service

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
)

// script is a model that calls note with the question, and then says what the tool said.
type script struct{ thinks time.Duration }

func (script) Info() model.Info { return model.Info{NoStreaming: true} }

func (s script) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		select {
		case <-time.After(s.thinks/2 + rand.N(s.thinks)):
			yield(model.Delta{Response: &model.Response{Message: s.next(r.Messages)}}, nil)
		case <-ctx.Done():
			yield(model.Delta{}, ctx.Err())
		}
	}
}

func (script) next(messages []run.Message) run.Message {
	last := messages[len(messages)-1]
	if last.Role == run.RoleUser {
		call := run.Part{Type: run.PartCall, ID: fmt.Sprint("c", len(messages)), Name: "note", Arguments: fmt.Sprintf(`{"text":%q}`, last.Text())}
		return run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}
	}
	var said []string
	for _, p := range last.Parts {
		said = append(said, p.Text)
	}
	return run.Text(run.RoleAssistant, strings.Join(said, " "))
}

// load is many users at a service: each begins runs whose tool asks for an approval, follows the events,
// answers, and checks that the run is the user's own.
type load struct {
	t              testing.TB
	users, at      int // at the same time
	rounds         int // of all users
	options        *options
	notes          sync.Map // what the tool was told, and by whom
	took           []time.Duration
	mu             sync.Mutex // guards took
	active, most   atomic.Int64
	peak, before   uint64
	lost, crossing atomic.Int64

	service              *service
	bytes, held, readers int // at their peaks
}

// note is the tool: it keeps what it is told, for the user of the call.
func (l *load) note(ctx context.Context, in struct {
	Text string `json:"text"`
}) (string, error) {
	_, twice := l.notes.LoadOrStore(in.Text, hosting.User(ctx))
	check.That(l.t, !twice, "%q was noted twice", in.Text)
	return hosting.User(ctx) + " noted " + in.Text, nil
}

func (l *load) name(user int) string { return fmt.Sprintf("user%04d", user) }

func (l *load) play() {
	var users []string
	for n := range l.users {
		users = append(users, l.name(n))
	}
	tool := adapter.Func("note", "Notes a text.", l.note, &adapter.FuncOptions{Options: &adapter.Options{User: hosting.User}})
	var url string
	url, l.service = withTool(l.t, l.options, script{20 * time.Millisecond}, tool, users...)
	l.before = heap()
	watching, enough := context.WithCancel(l.t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { l.watch(watching) })
	next := make(chan int, l.users*l.rounds)
	var people sync.WaitGroup
	for range l.at {
		people.Go(func() {
			for n := range next {
				l.visit(person{aside{l.t}, url, l.name(n % l.users)}, n)
			}
		})
	}
	for n := range l.users * l.rounds {
		next <- n
	}
	close(next)
	people.Wait()
	enough()
	watch.Wait()
}

// left counts what a service has in memory of users who are gone.
func left(s *service) (n int) {
	l := s.engine.(*local)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	for _, t := range s.limits.tenants {
		n += t.streams + t.uses
	}
	return n + len(l.working) + s.feed.Usage().Readers
}

// visit has a user begin a run, allow its call and read its end.
func (l *load) visit(p person, n int) {
	began := time.Now()
	l.most.Store(max(l.most.Load(), l.active.Add(1)))
	defer l.active.Add(-1)
	name, text := l.name(n%l.users), fmt.Sprint("text ", n)
	id := p.run(text)
	asked := p.follow(id, "", is("suspended"))
	state := p.state(id)
	if len(state.Asks) != 1 || !strings.Contains(string(state.Asks[0].Arguments), text) {
		l.t.Errorf("%s: got questions %+v, want one about %q", name, state.Asks, text)
		l.crossing.Add(1)
		return
	}
	p.answer(id, state.Asks[0].ID, `"action":"allow"`)
	last := strings.Fields(ids(asked))
	p.follow(id, last[len(last)-1], is("answer"))
	state = p.state(id)
	if want := name + " noted " + text; state.Status != run.StatusFinished || state.Answer != want {
		l.t.Errorf("got %s %q, want %q", state.Status, state.Answer, want)
		l.crossing.Add(1)
	}
	if by, ok := l.notes.Load(text); !ok || by != name {
		l.t.Errorf("%q was noted for %v, want %s", text, by, name)
		l.lost.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(began))
}

// watch looks at the heap and at what the feed holds.
func (l *load) watch(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		u := l.service.feed.Usage()
		l.bytes, l.held, l.readers = max(l.bytes, u.Bytes), max(l.held, u.Held), max(l.readers, u.Readers)
		if n%50 == 0 {
			l.peak = max(l.peak, heap())
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (l *load) stored() (size int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(l.options.store + suffix); err == nil {
			size += info.Size()
		}
	}
	return size
}

// TestLoad is a small load, with little room for events. BenchmarkLoad has the figures of docs/scaling.md.
func TestLoad(t *testing.T) {
	const memory, people = 48 << 10, 20
	l := &load{t: t, users: 40, at: people, rounds: 2, options: settings(t, "-memory", fmt.Sprint(memory))}
	l.play()
	got := len(l.took)
	check.That(t, got == 80 && l.lost.Load()+l.crossing.Load() == 0, "got %d runs, %d lost and %d crossed over, want 80 and none", got, l.lost.Load(), l.crossing.Load())
	check.That(t, l.bytes <= memory && l.bytes >= memory/2, "got %d bytes of events in memory, want %d at most, and all of that is used", l.bytes, memory)
	most := memory + people*(32<<10)
	check.That(t, l.held <= most && l.readers <= 3*people, "got %d bytes held by %d readers, want %d by %d at most", l.held, l.readers, most, 3*people)
	grown := int64(l.peak) - int64(l.before)
	check.That(t, grown <= 128<<20, "the heap has grown by %d MiB", grown>>20)
	eventually(t, "nothing is left of the load", func() bool { return left(l.service) == 0 })
}
