package record_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// keep stores a run with these changes after its beginning, a second apart.
func keep(t *testing.T, store record.Store, key run.Key, agent string, more ...ledger.Change) {
	t.Helper()
	first := &ledger.Begun{V: ledger.Version, ID: key.ID, Tenant: key.Tenant, Agent: ledger.AgentName{Name: agent}, Messages: []run.Message{run.Text(run.RoleUser, "go")}}
	changes := with([]ledger.Change{first, &ledger.Called{}, &ledger.Responded{Calls: []ledger.Call{call("1"), call("2")}}}, more...)
	s, log := draft(changes...)
	lease := check.Value(store.Create(t.Context(), record.Holder{Name: "h", TTL: time.Minute}, ledger.HeadOf(s), log))(t)
	check.Must(t, store.Release(t.Context(), lease))
}

func opens(id string, kind run.QuestionKind) ledger.Change {
	return &ledger.Opened{Question: run.Question{ID: id, Kind: kind, Call: "1", Survives: kind == run.QuestionApproval}}
}

// questionIDs returns the ids of the questions that a query selects, each with its run.
func questionIDs(t *testing.T, store record.Store, q record.Query) (ids []string) {
	t.Helper()
	for question, err := range record.OpenQuestions(t.Context(), store, q) {
		if errors.Is(err, record.ErrDamaged) {
			ids = append(ids, question.Head.Key.ID+": "+err.Error())
			continue
		}
		check.Must(t, err)
		ids = append(ids, question.Head.Key.ID+": "+question.Question.ID)
	}
	return ids
}

// faulty is a store that fails to load some runs, whose heads lack their questions. It counts loads.
func faulty(store record.Store, errs map[string]error, loads *int) record.Store {
	return ledgertest.Watch(store, func(c *ledgertest.Call) error {
		if c.Method == "load" {
			*loads++
			return cmp.Or(errs[c.Key.ID], c.Do())
		}
		if err := cmp.Or(errs[c.Method], c.Do()); err != nil || c.Method != "list" {
			return err
		}
		heads := c.Heads
		c.Heads = func(yield func(run.Head, error) bool) {
			for head, err := range heads {
				if errs[head.Key.ID] != nil {
					head.Questions = nil
				}
				if !yield(head, err) {
					return
				}
			}
		}
		return nil
	})
}

// TestOpenAsks lists open questions: of a tenant, of sub-agents, without those that have a reply or whose run has ended.
func TestOpenAsks(t *testing.T) {
	store, wait := record.NewMemory(), &ledger.Suspended{}
	acme := func(id string) run.Key { return run.Key{Tenant: "acme", ID: id} }
	keep(t, store, acme("two"), "clerk", opens("a", run.QuestionApproval), &ledger.Opened{Question: run.Question{ID: "b", Kind: run.QuestionApproval, Call: "2"}}, wait)
	keep(t, store, acme("nested"), "clerk", nested(1, begun[0]), nested(2, &ledger.Opened{Question: run.Question{ID: "c", Kind: run.QuestionSignIn}}), wait)
	keep(t, store, acme("held"), "clerk", &ledger.Intent{Call: "1"}, opens("d", run.QuestionForm))
	keep(t, store, acme("busy"), "clerk")
	keep(t, store, acme("answered"), "clerk", opens("e", run.QuestionApproval), wait)
	keep(t, store, acme("over"), "clerk", opens("f", run.QuestionApproval), &ledger.Ended{Status: run.StatusCancelled})
	keep(t, store, acme("other"), "lawyer", opens("g", run.QuestionApproval), wait)
	keep(t, store, run.Key{Tenant: "rival", ID: "theirs"}, "clerk", opens("h", run.QuestionApproval), wait)
	check.Must(t, store.Reply(t.Context(), acme("answered"), []run.Reply{{Question: "e", Action: run.ActionAllow}}))
	for _, tt := range []struct {
		name  string
		query record.Query
		errs  map[string]error
		want  []string
	}{
		{"of a tenant", record.Query{Tenant: "acme"}, nil, []string{"nested: c", "two: a", "two: b", "held: d", "other: g"}},
		{"of an agent", record.Query{Tenant: "acme", Agents: []string{"lawyer"}}, nil, []string{"other: g"}},
		{"of all tenants", record.Query{AllTenants: true, Agents: []string{"clerk"}}, nil, []string{"nested: c", "two: a", "two: b", "held: d", "theirs: h"}},
		{"of no tenant", record.Query{}, nil, nil},
		{"a few", record.Query{Tenant: "acme", Limit: 2}, nil, []string{"nested: c", "two: a", "two: b"}},
		{"the rest", record.Query{Tenant: "acme", After: headOf(t, store, acme("two"))}, nil, []string{"held: d", "other: g"}},
		{"behind a run under way", record.Query{Tenant: "acme", After: headOf(t, store, acme("held"))}, nil, []string{"other: g"}},
		{"a damaged run", record.Query{Tenant: "acme"}, map[string]error{"nested": record.ErrCorrupt}, []string{"nested: run cannot be read: stored data is damaged", "two: a", "two: b", "held: d", "other: g"}},
		{"a run that was deleted", record.Query{Tenant: "acme"}, map[string]error{"nested": record.ErrNotFound}, []string{"two: a", "two: b", "held: d", "other: g"}},
	} {
		check.Equal(t, tt.name, fmt.Sprint(questionIDs(t, faulty(store, tt.errs, new(int)), tt.query)), fmt.Sprint(tt.want))
	}
	check.Must(t, store.Reply(t.Context(), acme("two"), []run.Reply{{Question: "a", Action: run.ActionAllow}}))
	got := questionIDs(t, store, record.Query{Tenant: "acme", Limit: 3})
	check.Same(t, "after one of two answers", got, []string{"nested: c", "two: b", "held: d"})
	broken := errors.New("disk")
	var failed error
	for _, failed = range record.OpenQuestions(t.Context(), faulty(store, map[string]error{"list": broken}, new(int)), record.Query{}) {
	}
	check.Is(t, failed, broken, "a store that fails")
}

func headOf(t *testing.T, store record.Store, key run.Key) *run.Head {
	t.Helper()
	return &check.Value(store.Load(t.Context(), key))(t).Head
}

func extend(t *testing.T, store record.Store, key run.Key, c ledger.Change) {
	t.Helper()
	extendAt(t, store, key, start, c)
}

func extendAt(t *testing.T, store record.Store, key run.Key, at time.Time, c ledger.Change) {
	t.Helper()
	lease := check.Value(store.Acquire(t.Context(), key, record.Holder{Name: "h"}))(t)
	d := ledgertest.Of(check.Value(store.Load(t.Context(), key))(t).Records)
	d.Begin, d.Pace = at, 0
	check.Must(t, d.Append(t.Context(), store, lease, c))
}

// TestOpenAsksOnce lists the questions of a run once that begins to wait meanwhile.
func TestOpenAsksOnce(t *testing.T) {
	store, key := record.NewMemory(), run.Key{ID: "held"}
	keep(t, store, key, "", &ledger.Intent{Call: "1"}, opens("d", run.QuestionForm))
	n := 0
	for _, err := range record.OpenQuestions(t.Context(), store, record.Query{}) {
		check.Must(t, err)
		if n++; n == 1 {
			extend(t, store, key, &ledger.Suspended{})
		}
	}
	check.Equal(t, "times", n, 1)
}

// TestOpenAsksOfARunThatGoesOn lists the questions of a run that continues during the list.
func TestOpenAsksOfARunThatGoesOn(t *testing.T) {
	store, key := record.NewMemory(), run.Key{ID: "waits"}
	keep(t, store, key, "", opens("a", run.QuestionForm), opens("b", run.QuestionForm), &ledger.Suspended{})
	lists := 0
	s := ledgertest.Watch(store, func(c *ledgertest.Call) error {
		if lists++; lists == 2 { // the first list is that of waiting runs
			extend(t, store, key, &ledger.Woken{})
		}
		return c.Do()
	})
	check.Equal(t, "", fmt.Sprint(questionIDs(t, s, record.Query{})), "[waits: a waits: b]")
}

// TestOpenAsksAreBounded lists 1,000 of more questions, and loads no run.
func TestOpenAsksAreBounded(t *testing.T) {
	store := record.NewMemory()
	for i := range 1001 {
		keep(t, store, run.Key{ID: fmt.Sprint(i)}, "", opens(fmt.Sprint("ask ", i), run.QuestionApproval), &ledger.Suspended{})
	}
	loads := 0
	n := len(questionIDs(t, faulty(store, nil, &loads), record.Query{}))
	check.That(t, n == 1000 && loads == 0, "got %d questions, and %d runs were loaded, want 1000 and none", n, loads)
}

// The questions in heads are those in records: with all members, of a sub-agent, and too long for a head.
func TestOpenAsksOfHeads(t *testing.T) {
	store := record.NewMemory()
	long := run.Question{ID: "long", Kind: run.QuestionApproval, Call: "1", Arguments: []byte(`"` + strings.Repeat("x", ledger.MaxQuestions) + `"`)}
	whole := run.Question{ID: "whole", Kind: run.QuestionApproval, Call: "2", Server: "s", Tool: "t<>", Path: []string{"a"}, Arguments: []byte(`{"a": 1}`), Tries: 2, Sent: start, Created: start, Expires: start, Survives: true}
	keep(t, store, run.Key{ID: "long"}, "", &ledger.Opened{Question: long}, &ledger.Suspended{})
	keep(t, store, run.Key{ID: "nested"}, "", &ledger.Opened{Question: whole}, nested(1, begun[0]), nested(2, &ledger.Opened{Question: run.Question{ID: "c", Kind: run.QuestionSignIn, URL: "https://a.example"}}), &ledger.Suspended{})
	loads, n := 0, 0
	for open, err := range record.OpenQuestions(t.Context(), faulty(store, nil, &loads), record.Query{}) {
		check.Must(t, err)
		n++
		log := check.Value(store.Load(t.Context(), open.Head.Key))(t)
		questions := check.Value(log.Questions())(t)
		i := slices.IndexFunc(questions, func(q *run.Question) bool { return q.ID == open.Question.ID })
		got := check.Value(open.Question.MarshalJSON())(t)
		check.Equal(t, open.Question.ID, string(got), string(check.Value(questions[i].MarshalJSON())(t)))
	}
	check.That(t, n == 3 && loads == 1, "got %d questions, and %d runs were loaded, want 3 and the long one", n, loads)
}

// TestOpenAsksInPages changes runs between pages: no run comes twice, and runs that do not change come once.
func TestOpenAsksInPages(t *testing.T) {
	store := record.NewMemory()
	for i := range 9 {
		changes := []ledger.Change{opens(fmt.Sprint("ask ", i), run.QuestionApproval)}
		for range i {
			changes = append(changes, &ledger.Noted{Trace: map[string]string{"a": "b"}})
		}
		if i%2 == 0 {
			changes = append(changes, &ledger.Suspended{})
		}
		keep(t, store, run.Key{ID: fmt.Sprint(i)}, "", changes...)
	}
	got, q := map[string]int{}, record.Query{Limit: 2}
	for page := 0; ; page++ {
		n := 0
		for open, err := range record.OpenQuestions(t.Context(), store, q) {
			check.Must(t, err)
			n++
			got[open.Head.Key.ID]++
			q.After = &open.Head
		}
		if n < q.Limit {
			break
		}
		if page == 0 { // one that was listed continues, and one that was not
			extendAt(t, store, run.Key{ID: q.After.Key.ID}, start.Add(time.Hour), &ledger.Noted{Trace: map[string]string{"a": "c"}})
			extendAt(t, store, run.Key{ID: "2"}, start.Add(time.Hour), &ledger.Woken{})
		}
	}
	check.Same(t, "questions of each run", got, map[string]int{"0": 1, "1": 1, "3": 1, "4": 1, "5": 1, "6": 1, "7": 1, "8": 1})
	first := questionIDs(t, store, record.Query{Limit: 1})
	check.That(t, fmt.Sprint(first) != "[8: ask 8]", "got %q first, want one that has changed", first)
}

// A reply to a question that has ended with its process is refused, as far as the lease tells. One that outlives it is answered.
func TestSubmitAfterProcess(t *testing.T) {
	const lease = time.Minute
	review, approval := run.Reply{Question: "review", Action: run.ActionDeny}, run.Reply{Question: "approval", Action: run.ActionAllow}
	for name, tt := range map[string]struct {
		after   time.Duration // since the lease was renewed
		release bool
		reply   run.Reply
		want    error
	}{
		"it works":                   {0, false, review, nil},
		"it renews in time":          {lease/4*3 - 1, false, review, nil},
		"it has not renewed":         {lease / 4 * 3, false, review, run.ErrNotAsked},
		"its lease is over":          {lease, false, review, run.ErrNotAsked},
		"it has let the run go":      {0, true, review, run.ErrNotAsked},
		"an approval, lease is over": {lease, false, approval, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			store, key := record.NewMemory(), run.Key{ID: "held"}
			keep(t, store, key, "", &ledger.Intent{Call: "1"}, opens("review", run.QuestionSampling),
				&ledger.Opened{Question: run.Question{ID: "approval", Kind: run.QuestionApproval, Call: "2", Survives: true}})
			l, err := store.Acquire(t.Context(), key, record.Holder{Name: "asks", TTL: lease})
			check.Must(t, err)
			if tt.release {
				check.Must(t, store.Release(t.Context(), l))
			}
			time.Sleep(tt.after)
			err = record.Submit(t.Context(), store, key, tt.reply)
			check.That(t, errors.Is(err, tt.want) && (tt.want == nil || strings.Contains(err.Error(), `"review" of run "held": the process that asked it`)), "%s: got %v, want %v", name, err, tt.want)
			check.Equal(t, name+": a reply is stored", headOf(t, store, key).ReplyCount > 0, tt.want == nil)
		})
	}
}

// An outage that begins while a run is read is no damage of that run.
func TestOutageIsNoDamage(t *testing.T) {
	memory, outage := record.NewMemory(), errors.New("connection refused")
	for id := range 3 {
		keep(t, memory, run.Key{ID: fmt.Sprint(id)}, "", opens("long", run.QuestionForm), &ledger.Suspended{})
	}
	var loads int
	errs := map[string]error{"0": nil, "1": outage, "2": nil}
	store := ledgertest.Watch(faulty(memory, errs, &loads), func(c *ledgertest.Call) error {
		err := c.Do()
		if err != nil {
			errs["list"] = outage
		}
		return err
	})
	for _, err := range record.OpenQuestions(t.Context(), store, record.Query{}) {
		check.That(t, err == nil || errors.Is(err, outage) && !errors.Is(err, record.ErrDamaged), "got %v, want the outage", err)
	}
	delete(errs, "list")
	for key, err := range record.Verify(t.Context(), store, record.Query{}) {
		check.Same(t, "key and error", []string{key.ID, err.Error()}, []string{"", "verify runs: connection refused"})
	}
}

// Two damaged runs that do not say whose they are are both reported, once.
func TestQuestionsOfDamagedRuns(t *testing.T) {
	store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
		c.Heads = func(yield func(run.Head, error) bool) {
			for i := 0; i < 2 && yield(run.Head{}, fmt.Errorf("file %d: %w", i, record.ErrDamaged)); i++ {
			}
		}
		return nil
	})
	var got []string
	for _, err := range record.OpenQuestions(t.Context(), store, record.Query{AllTenants: true}) {
		got = append(got, err.Error())
	}
	check.Same(t, "questions", got, []string{"file 0: run cannot be read", "file 1: run cannot be read"})
}

// TestErrorsOfAChange reads the errors of CancelRun and Revive: each names the run once.
func TestErrorsOfAChange(t *testing.T) {
	store, key := record.NewMemory(), run.Key{ID: "run_1"}
	check.Must(t, suspended(t.Context(), store, key))
	ended, end := context.WithCancel(t.Context())
	end()
	for want, err := range map[string]error{
		`load run "none": not found`:                             record.CancelRun(t.Context(), store, run.Key{ID: "none"}),
		`load run "gone": not found`:                             record.Revive(t.Context(), store, run.Key{ID: "gone"}),
		`revive run "run_1": run is waiting, and has not failed`: record.Revive(t.Context(), store, key),
		`load run "run_1": context canceled`:                     record.CancelRun(ended, store, key),
	} {
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want) && strings.Count(err.Error(), "run \"") == 1, "got %v, want %s", err, want)
	}
}

// TestCancelWithoutRequest ends the context before a request can be stored: the error does not say that it was.
func TestCancelWithoutRequest(t *testing.T) {
	key := run.Key{ID: "run_1"}
	ctx, cancel := context.WithCancel(t.Context())
	store := interfering(record.NewMemory(), func(run.Key) error { cancel(); return record.ErrHeld })
	check.Must(t, suspended(t.Context(), store, key))
	err := record.CancelRun(ctx, store, key)
	check.That(t, errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "requested"), "got %v, want no claim of a request", err)
}

// TestCancelDoesNotHang has a store that does not respond to a release: the caller gets its result.
func TestCancelDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, key := record.NewMemory(), run.Key{ID: "run_1"}
		check.Must(t, suspended(t.Context(), inner, key))
		check.Must(t, record.CancelRun(t.Context(), ledgertest.Watch(inner, func(c *ledgertest.Call) error {
			if c.Method != "release" {
				return c.Do()
			}
			<-c.Ctx.Done()
			return c.Ctx.Err()
		}), key))
	})
}

// TestCancelInDoubt ends the context while a request is stored, so that nobody knows whether it is.
func TestCancelInDoubt(t *testing.T) {
	key := run.Key{ID: "run_1"}
	ctx, cancel := context.WithCancel(t.Context())
	store := interrupted{record.NewMemory(), cancel}
	check.Must(t, suspended(t.Context(), store, key))
	err := record.CancelRun(ctx, store, key)
	check.Is(t, err, record.ErrHeld)
	check.Is(t, err, context.Canceled)
	check.Text(t, err, "may be requested")
}

// interrupted is a store whose runs are held, and whose caller leaves while a request is stored.
type interrupted struct {
	record.Store
	leave context.CancelFunc
}

func (interrupted) Acquire(context.Context, run.Key, record.Holder) (record.Lease, error) {
	return record.Lease{}, record.ErrHeld
}

func (s interrupted) RequestCancel(ctx context.Context, key run.Key) error {
	err := s.Store.RequestCancel(ctx, key)
	s.leave()
	return errors.Join(err, ctx.Err())
}
