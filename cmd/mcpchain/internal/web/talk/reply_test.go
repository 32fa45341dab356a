package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func opened(t *testing.T, o Options) *Service {
	t.Helper()
	s := check.Value(New(o))(t)
	t.Cleanup(s.Close)
	return s
}

func begun(t *testing.T, o Options) (s *Service, id string) {
	t.Helper()
	s = opened(t, o)
	id = check.Value(s.Begin(t.Context(), "Ada", "hello"))(t)
	return s, id
}

func keep(t *testing.T, store record.Store, id string, at time.Time, changes ...ledger.Change) {
	t.Helper()
	begun := &ledger.Begun{
		ID: id, Tenant: "Ada", Agent: ledger.AgentName{Name: AgentName},
		Messages: []run.Message{run.Text(run.RoleUser, "hello")},
	}
	ledgertest.Keep(t, store, ledgertest.Since(at, begun, changes...))
}

// TestSignedInOfAnOldConversation continues a conversation that is not in the first page of the list.
func TestSignedInOfAnOldConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		question := run.Question{ID: "q", Kind: run.QuestionSignIn, Server: "notes", URL: "https://page.test/", Survives: true}
		keep(t, store, "old", time.Now(), &ledger.Opened{Question: question}, &ledger.Suspended{})
		for i := range maxListed {
			keep(t, store, fmt.Sprint("new", i), time.Now().Add(time.Second), &ledger.Ended{Status: run.StatusFinished, Stop: "answer"})
		}
		s := opened(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
		check.Must(t, s.SignedIn(t.Context(), "Ada", "notes"))
		synctest.Wait()
		state, err := s.load(t.Context(), run.Key{Tenant: "Ada", ID: "old"})
		check.That(t, err == nil && state.Status == run.StatusFinished, "got %+v, %v, want an answer after the sign-in", state, err)
	})
}

// brokenStore reads no conversation, and its list ends with an error.
type brokenStore struct{ record.Store }

var errRead, errListed = errors.New("cannot read"), errors.New("cannot list")

func (s brokenStore) Load(context.Context, run.Key) (*record.Log, error)        { return nil, errRead }
func (s brokenStore) LoadCurrent(context.Context, run.Key) (*record.Log, error) { return nil, errRead }

func (s brokenStore) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		for head, err := range s.Store.List(ctx, q) {
			if !yield(head, err) {
				return
			}
		}
		yield(run.Head{}, errListed)
	}
}

// TestErrorsOfSignedIn returns the error of a conversation and that of the list.
func TestErrorsOfSignedIn(t *testing.T) {
	store := record.NewMemory()
	question := run.Question{ID: "q", Kind: run.QuestionSignIn, Server: "notes", URL: "https://page.test/", Survives: true}
	keep(t, store, "a", time.Now(), &ledger.Opened{Question: question}, &ledger.Suspended{})
	s := opened(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: brokenStore{store}})
	err := s.SignedIn(t.Context(), "Ada", "notes")
	check.Is(t, err, errRead)
	check.Is(t, err, errListed)
}

// TestLargeForm answers a form with more text than a reply may have. The user can mend that.
func TestLargeForm(t *testing.T) {
	store := record.NewMemory()
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	form := run.Question{ID: "q", Kind: run.QuestionForm, Elicit: &mcp.ElicitParams{Message: "Which text?", RequestedSchema: schema}, Survives: true}
	keep(t, store, "a", time.Now(), &ledger.Opened{Question: form}, &ledger.Suspended{})
	s := opened(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
	fields := map[string]any{"text": strings.Repeat("<p>", 1<<19)}
	check.Is(t, s.Reply(t.Context(), "Ada", "a", Reply{Question: "q", Action: run.ActionAccept, Fields: fields}), ErrUnfit)
}

// TestGrace waits for an answer while a window is open, and for the time of a reload without one.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &topic{replies: map[string]run.Reply{}, awaited: map[string]bool{}}
		ctx := context.WithValue(t.Context(), topicKey{}, shown)
		replied := make(chan run.Reply, 1)
		go func() {
			reply, err := new(Service).replyAtWindow(ctx, &run.Question{ID: "q"})
			check.NoError(t, err)
			replied <- reply
		}()
		begun := time.Now()
		for _, step := range []struct {
			windows int
			wait    time.Duration
		}{{1, time.Hour}, {-1, reloadGrace - time.Second}, {1, time.Hour}, {-1, 0}} {
			shown.countWindow(step.windows)
			time.Sleep(step.wait)
		}
		check.Same(t, "no answer", <-replied, run.Reply{})
		check.Equal(t, "the wait, by the clock of the bubble", time.Since(begun), 2*time.Hour+reloadGrace-time.Second+reloadGrace)
		check.That(t, !shown.awaited["q"], "the question is awaited after the end of the wait")
	})
}

// TestWindowForAMoment opens a window as the grace ends, and closes it before the wait has seen it. The wait ends
// after another grace.
func TestWindowForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &topic{replies: map[string]run.Reply{}, awaited: map[string]bool{}}
		setWindows := func(n int) {
			shown.mu.Lock()
			defer shown.mu.Unlock()
			shown.windows = n
		}
		ctx := context.WithValue(t.Context(), topicKey{}, shown)
		ended := make(chan error, 1)
		go func() { ended <- check.Err(new(Service).replyAtWindow(ctx, &run.Question{ID: "q"})) }()
		synctest.Wait()
		setWindows(1)
		shown.changed.mu.Lock() // the wait comes here after it has seen the window at the end of the grace
		time.Sleep(reloadGrace)
		for range 100 {
			runtime.Gosched()
		}
		setWindows(0)
		shown.changed.mu.Unlock()
		check.NoError(t, <-ended)
	})
}
