package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// A run whose process ends before or after any of its writes ends as an undisturbed one
// does: in another process, with each effect once, and each question put once. Only the call
// of a tool without keys that was under way may be in doubt, and the history says so.
// Not covered: URLs, tasks and structured answers.
func TestEveryBoundary(t *testing.T) {
	var want *ending
	synctestRun(t, "undisturbed", func(t *testing.T) { want = newWorld().live(t, &mortal{}, nil) })
	if want == nil {
		return
	}
	diff(t, "doubts of the undisturbed run", len(want.doubts), 0)
	boundaries, doubts := 0, 0
	disturbed := func(name string, first *mortal, next func() *mortal) (ended bool) {
		synctestRun(t, name, func(t *testing.T) {
			got := newWorld().live(t, first, next)
			diff(t, "history", got.history, want.history)
			diff(t, "effects", got.effects, want.effects)
			diff(t, "questions", got.questions, want.questions)
			diff(t, "spent", got.spent, want.spent)
			doubts += len(got.doubts)
		})
		return !first.dead || t.Failed()
	}
	for _, keep := range []bool{false, true} {
		for n := 1; !disturbed(fmt.Sprintf("write %d kept %v", n, keep), &mortal{at: n, keep: keep}, nil); n++ {
			boundaries++
		}
		for n := 5; n < 12; n++ {
			each := func() *mortal { return &mortal{at: n, keep: keep} }
			disturbed(fmt.Sprintf("each process ends at write %d kept %v", n, keep), each(), each)
		}
	}
	if boundaries < 120 || doubts == 0 {
		t.Errorf("the run was killed at %d boundaries, and %d calls were in doubt; want at least 120, and some", boundaries, doubts)
	}
}

// mortal is a store for a process that ends at a write: the write is kept or not, and
// nothing works any more.
type mortal struct {
	run.Store
	at   int // number of the write; 0: the process does not end
	keep bool

	mu     sync.Mutex
	writes int
	dead   bool
}

var errKilled = errors.New("the process is killed")

// write writes, unless the process has ended.
func (m *mortal) write(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	m.writes++
	m.dead = m.writes == m.at
	if m.dead && !m.keep {
		return errKilled
	}
	if err := f(); err != nil {
		return err
	}
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *mortal) Create(ctx context.Context, h run.Holder, head run.Head, records []run.Record) (lease run.Lease, err error) {
	err = m.write(func() (err error) {
		lease, err = m.Store.Create(ctx, h, head, records)
		return err
	})
	return lease, err
}

func (m *mortal) Append(ctx context.Context, lease run.Lease, head run.Head, records []run.Record) error {
	return m.write(func() error { return m.Store.Append(ctx, lease, head, records) })
}

func (m *mortal) Answer(ctx context.Context, key run.Key, answers []run.Answer) error {
	return m.write(func() error { return m.Store.Answer(ctx, key, answers) })
}

func (m *mortal) Release(ctx context.Context, lease run.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	return m.Store.Release(ctx, lease)
}

// ending is what a run comes to.
type ending struct {
	history   string
	effects   map[string]int
	questions []string
	spent     run.Spent
	doubts    map[string]bool // calls
}

// live has a process work on the run, and another one each time that one is killed.
// Without next the second process lives.
func (w *world) live(t *testing.T, store *mortal, next func() *mortal) *ending {
	if next == nil {
		next = func() *mortal { return &mortal{} }
	}
	doubts := map[string]bool{}
	got, err := w.process(t, store)
	for lives := 1; store.dead && lives < 100; lives++ {
		if !errors.Is(err, errKilled) {
			t.Fatalf("got %v, want the end of the process", err)
		}
		w.underWay(t, doubts)
		time.Sleep(time.Hour) // the lease ends
		store = next()
		got, err = w.process(t, store)
	}
	if err != nil || got.Status != run.Finished {
		t.Fatalf("the run is not over: %v", err)
	}
	history, told := plain(t, got.Messages)
	diff(t, "calls in doubt", told, len(doubts))
	for n := range doubts {
		if w.effects[n] > 1 {
			t.Errorf("call %s is in doubt and was done %d times", n, w.effects[n])
		}
		w.effects[n] = 1
	}
	spent := got.Spent
	spent.Lost = 0
	return &ending{history, w.effects, slices.Sorted(maps.Keys(w.asked)), spent, doubts}
}

// process is the application: it begins the run or goes on with it, and answers what is
// asked.
func (w *world) process(t *testing.T, store *mortal) (*agent.Result, error) {
	store.Store = w.store
	a := w.agent(t, store)
	log, err := store.Load(t.Context(), theRun)
	var got *agent.Result
	switch {
	case errors.Is(err, run.ErrNotFound):
		got, err = a.Run(t.Context(), human("go"), agent.In(theRun.ID))
	case err == nil:
		s, failure := run.Fold(log.Records)
		if failure != nil {
			t.Fatal(failure)
		}
		got, err = a.ResumeRun(t.Context(), theRun, w.answers(t, run.Open(s))...)
	}
	for err == nil && got.Status == run.Waiting {
		got, err = a.ResumeRun(t.Context(), theRun, w.answers(t, got.Asks)...)
	}
	return got, err
}

// underWay adds the calls of the tool without keys that were sent and have no outcome.
func (w *world) underWay(t *testing.T, doubts map[string]bool) {
	log, err := w.store.Load(t.Context(), theRun)
	if errors.Is(err, run.ErrNotFound) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := run.Fold(log.Records)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Calls {
		if c.At == run.Sent && c.Tool == "note" {
			doubts[number(c.Args)] = true
		}
	}
}

func number(arguments json.RawMessage) string {
	var args struct{ N string }
	_ = json.Unmarshal(arguments, &args)
	return args.N
}

// The result of a call of "note", and what stands in its place if the call is in doubt.
const (
	noted   = "noted"
	unknown = "It is unknown whether the call ran: the program ended while it was under way. Check before you repeat it."
)

// plain is a history without times, in which no call is in doubt, and how many were.
// What a server says of itself with each result is left out, too.
func plain(t *testing.T, messages []run.Message) (string, int) {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		m.At, m.Parts = time.Time{}, slices.Clone(m.Parts)
		for j := range m.Parts {
			p := &m.Parts[j]
			p.Meta, p.IsError = nil, p.IsError && p.Text != unknown
		}
	}
	data, err := json.MarshalIndent(messages, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), unknown, noted), strings.Count(string(data), unknown)
}

// answers are the person's answers. A question about the same call is put once.
func (w *world) answers(t *testing.T, asks []*run.Ask) (answers []run.Answer) {
	for _, q := range asks {
		about := fmt.Sprint(q.Path, q.Call, q.Kind)
		if id := w.asked[about]; id != "" && id != q.ID {
			t.Errorf("%s is asked as %s and as %s", about, id, q.ID)
		}
		w.asked[about] = q.ID
		switch {
		case q.Kind == run.AskForm:
			answer, err := q.Accept(map[string]any{"name": "Ann"})
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, answer)
		case strings.Contains(string(q.Arguments), "edit"):
			answers = append(answers, q.AllowWith(fmt.Appendf(nil, `{"n":%q,"by":"Ann"}`, number(q.Arguments))))
		default:
			answers = append(answers, q.Allow())
		}
	}
	return answers
}
