package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// legacyProcess is a process whose server is of the legacy era, with a tool "quiz" that asks
// as many questions as it is told, one after the other.
func legacyProcess(t *testing.T, store record.Store, model *script, opts agent.Options) (a *agent.Agent, calls *atomic.Int32) {
	t.Helper()
	s, calls := newServer(), new(atomic.Int32)
	s.addTool("quiz", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		calls.Add(1)
		var args struct{ Questions int }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		var said []string
		for i := range args.Questions {
			answer, err := r.Session.Elicit(ctx, nameForm(fmt.Sprint("question ", i+1)))
			if err != nil {
				return nil, err
			}
			if said = append(said, fmt.Sprintf("%s %v", answer.Action, answer.Content["name"])); answer.Action != "accept" {
				break
			}
		}
		return text(strings.Join(said, ", ")), nil
	})
	o := inEra(eras[0])
	o.Policy.IdleTimeout = 2 * time.Minute // a held question does not count
	opts.Durable.Store = store
	return withTools(t, model, s.box(t, o), &opts), calls
}

func quiz(questions int) step {
	return uses(toolCall("1", "quiz", fmt.Sprintf(`{"questions":%d}`, questions)))
}

// A legacy server's question is one of the run while its call is held, and is answered by
// another process. Without an answer it is cancelled in time.
func TestHeldQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		opts   agent.Options
		answer func(*run.Question) run.Reply // nil: none
		want   string
		after  time.Duration // that the run ends
	}{
		"answered":       {agent.Options{}, signs("Ann"), "accept Ann", 10 * time.Second},
		"declined":       {agent.Options{}, (*run.Question).Decline, "decline <nil>", 10 * time.Second},
		"expires":        {agent.Options{}, nil, "cancel <nil>", 5 * time.Minute},
		"told how long":  {agent.Options{Person: agent.Person{Hold: time.Hour}}, nil, "cancel <nil>", time.Hour},
		"QuestionTTL":    {agent.Options{Person: agent.Person{QuestionTTL: time.Minute}}, nil, "cancel <nil>", time.Minute},
		"at the end":     {agent.Options{Person: agent.Person{Hold: 9700 * time.Millisecond}}, signs("Ann"), "accept Ann", 9700 * time.Millisecond},
		"not now":        {agent.Options{Person: agent.Person{Reply: notNow}}, signs("Bob"), "accept Bob", 10 * time.Second},
		"person at hand": {agent.Options{Person: agent.Person{Reply: atHand("Eve")}}, nil, "accept Eve", 0},
		"declines":       {agent.Options{Person: agent.Person{Hold: -1}}, nil, failed(unasked), 0},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			first, _ := legacyProcess(t, store, play(quiz(1), says("done")), tt.opts)
			start := time.Now()
			ended := begin(t.Context(), first)
			if tt.answer != nil {
				time.Sleep(9500 * time.Millisecond)
				second, _ := legacyProcess(t, store, play(says("no")), agent.Options{})
				q := openQuestions(t, second, 1)[0]
				check.Same(t, "whether it survives, and its tool", []any{q.Survives, q.Tool}, []any{false, "quiz"})
				check.Must(t, second.Reply(t.Context(), theRun, tt.answer(q)))
			}
			got := <-ended
			check.Same(t, "error, and the time", []any{got.err, time.Since(start)}, []any{nil, tt.after})
			check.Same(t, "result of the call", lines(got.Result.Messages)[2], fmt.Sprintf("tool: 1/quiz→%q", tt.want))
		})
	}
}

// Answers to several questions that end together are all found, also at the last moment. Until then the store is asked once.
func TestHeldQuestionsEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		store := watch(record.NewMemory(), func(c *storeCall) error {
			err := c.Do()
			if c.Method == "load" {
				loads.Add(1)
				time.Sleep(50 * time.Millisecond)
			}
			return err
		})
		calls := repeated(4, "quiz", `{"questions":1}`)
		opts := agent.Options{ParallelWrites: true, Person: agent.Person{Hold: 9700 * time.Millisecond}}
		first, _ := legacyProcess(t, store, play(uses(calls...), says("done")), opts)
		ended := begin(t.Context(), first)
		time.Sleep(9500 * time.Millisecond)
		within(t, "loads in 9.5 s, one each second", loads.Load(), 5, 15)
		second, _ := legacyProcess(t, store, play(says("no")), agent.Options{})
		var answers []run.Reply
		for _, q := range openQuestions(t, second, len(calls)) {
			answers = append(answers, signs("Ann")(q))
		}
		check.Must(t, second.Reply(t.Context(), theRun, answers...))
		got := <-ended
		check.Must(t, got.err)
		check.Same(t, "results", results(got.Result.Messages), slices.Repeat([]string{"accept Ann"}, len(calls)))
	})
}

func signs(name string) func(*run.Question) run.Reply {
	return func(q *run.Question) run.Reply {
		return run.Reply{Question: q.ID, Action: run.ActionAccept, Content: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))}
	}
}

func notNow(context.Context, *run.Question) (run.Reply, error) { return run.Reply{}, nil }

type runEnd struct {
	*agent.Result
	err error
}

func begin(ctx context.Context, a *agent.Agent) <-chan runEnd {
	ended := make(chan runEnd, 1)
	go func() {
		got, err := a.Run(ctx, human("go"), agent.WithRun(theRun.ID))
		ended <- runEnd{got, err}
	}()
	return ended
}

// The next process closes a question whose process has ended, and takes no answer to it. One that the store has from
// the time when the lease did not tell yet that the process is gone is not lost without a word.
func TestProcessEndsWhileAQuestionIsHeld(t *testing.T) {
	synctestRun(t, "unanswered", func(t *testing.T) { endWhileHeld(t, false) })
	synctestRun(t, "answered too late", func(t *testing.T) { endWhileHeld(t, true) })
}

func endWhileHeld(t *testing.T, answered bool) {
	store := record.NewMemory()
	first, _ := legacyProcess(t, store, play(quiz(1)), agent.Options{})
	killed(t, first, time.Second, agent.WithRun(theRun.ID))
	second, calls := legacyProcess(t, store, play(says("done")), agent.Options{})
	asked := openQuestions(t, second, 1)[0]
	check.Is(t, second.Reply(t.Context(), theRun, signs("Ann")(asked)), run.ErrNotAsked, "before the run continues")
	var want []string
	if answered {
		check.Must(t, store.Reply(t.Context(), theRun, []run.Reply{signs("Ann")(asked)}))
		want = []string{"the answer to the question " + asked.ID + " about quiz was not used: the call that asked ended with its process"}
	}
	events, result := played(t, second.ResumeEvents(t.Context(), theRun))
	check.Same(t, "warnings", warningsOf(result), want)
	closed := of[*agent.Replied](events)
	check.That(t, len(closed) == 1 && (answered || closed[0].Reply.Action == run.ActionCancel && closed[0].Reply.Reason == "the process that asked has ended"),
		"got %+v, want the end of the question", closed)
	check.Same(t, "answer of the model, told of the doubt, and calls", []any{result.Output, calls.Load()}, []any{"done", int32(0)})
	err := second.Reply(t.Context(), theRun, signs("Ann")(asked))
	check.That(t, answered || errors.Is(err, run.ErrNotAsked), "got %v, want %v", err, run.ErrNotAsked)
}

// A server that never stops asking in one call ends the run at Limits.Questions, whoever answers.
func TestLegacyQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			store record.Store
			limit int
		}{"at hand": {nil, 0}, "at hand, and stored": {record.NewMemory(), 7}} {
			asked := 0
			counting := func(ctx context.Context, q *run.Question) (run.Reply, error) { asked++; return atHand("Ann")(ctx, q) }
			a, calls := legacyProcess(t, tt.store, play(quiz(10_000), says("done")), agent.Options{Person: agent.Person{Reply: counting}, Limits: run.Limits{Questions: tt.limit}})
			_, err := a.Run(t.Context(), human("go"))
			want := max(tt.limit, 100*(1-min(tt.limit, 1)))
			check.Text(t, err, fmt.Sprintf(`turn 1: servers have asked more than %d questions in open calls of a turn, server "box" the last one (Limits.Questions)`, want), name)
			check.Same(t, name+": questions and calls", []any{asked, calls.Load()}, []any{want, int32(1)})
		}
	})
}

// An earlier version parked calls of legacy servers: a stored one is made again, and its question gets the
// reply that the person has given.
func TestParkedCallOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const form = `{"type":"object","properties":{"name":{"type":"string"}}}`
		key, _ := json.Marshal([]string{"form", "question 1", form, ""})
		parked := fmt.Sprintf(`"key":"parked_%x","parked":true,"survives":true`, sha256.Sum256(key))
		memory := record.NewMemory()
		parking := watch(memory, func(c *storeCall) error {
			for i, r := range c.Records {
				c.Records[i].JSON = bytes.Replace(r.JSON, []byte(`"survives":false`), []byte(parked), 1)
			}
			return c.Do()
		})
		first, _ := legacyProcess(t, parking, play(quiz(2)), agent.Options{})
		ctx, kill := context.WithTimeout(t.Context(), time.Second)
		defer kill()
		check.Fails(t, check.Err(first.Run(ctx, human("go"), agent.WithRun(theRun.ID))))
		next, calls := legacyProcess(t, memory, play(says("done")), agent.Options{Person: agent.Person{Reply: func(ctx context.Context, q *run.Question) (run.Reply, error) {
			if q.Repeats {
				return run.Reply{}, nil
			}
			return atHand("Bob")(ctx, q)
		}}})
		got := resumed(t, next, signs("Ann")(openQuestions(t, next, 1)[0]))
		check.Same(t, "calls, and the result", []any{calls.Load(), lines(got.Messages)[2]}, []any{int32(1), `tool: 1/quiz→"accept Ann, accept Bob"`})
	})
}

// A question that outlives its calls is closed with them, and does not keep the run.
func TestHeldQuestionThatOutlivesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking := make(chan struct{})
		toolset := hasty(t, asking)
		model := play(uses(toolCall("1", "hasty", "{}"), sleep("2", 5)), says("done"))
		a := withTools(t, model, toolset, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, ParallelWrites: true})
		var why []string
		for e := range each(t, a.Events(t.Context(), human("go"))) {
			switch e := e.(type) {
			case *agent.Asked:
				close(asking)
			case *agent.Replied:
				why = append(why, e.Reply.Reason)
			case *agent.Output:
				why = append(why, e.Text)
			}
		}
		check.Same(t, "answers", why, []string{"the call that asked is over", "done"})
	})
}

// A scripted server over HTTP asks on the stream of its call, and gets the answer that another process has given.
func TestHeldQuestionOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan string, 1)
		host := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { askOverHTTP(w, r, answers) }))
		defer host.Close()
		toolset := openAll(t, inEra(eras[0]), adapter.Server{Name: "box", Transport: &mcpclient.HTTP{URL: host.URL(), Client: host.Client()}})
		store := record.NewMemory()
		ended := begin(t.Context(), withTools(t, play(uses(toolCall("1", "pay", "{}")), says("done")), toolset, &agent.Options{Durable: agent.Durable{Store: store}}))
		time.Sleep(time.Minute)
		second := newAgent(t, play(says("no")), &agent.Options{Durable: agent.Durable{Store: store}})
		q := openQuestions(t, second, 1)[0]
		check.Equal(t, "kind of the question", q.Kind, run.QuestionForm)
		check.Must(t, second.Reply(t.Context(), theRun, signs("Ann")(q)))
		got := <-ended
		check.Must(t, got.err)
		check.Same(t, "result", lines(got.Result.Messages)[2], `tool: 1/pay→"{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}"`)
	})
}

// askOverHTTP is a server of the legacy era with one tool, which tells the answer to its form.
func askOverHTTP(w http.ResponseWriter, r *http.Request, answers chan string) {
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	reply := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	switch m.Method {
	case "initialize":
		reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case "tools/list":
		reply(`{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`)
		w.(http.Flusher).Flush()
		select {
		case answer := <-answers:
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", m.ID, answer)
		case <-r.Context().Done():
		}
	case "":
		answers <- string(m.Result)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// slowAgent has a tool that takes a time, as a function of the bubble's clock.
func slowAgent(t *testing.T, store record.Store, takes time.Duration) *agent.Agent {
	slow := adapter.Func("slow", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(takes):
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
	m := instant{onInput(uses(toolCall("1", "slow", `{}`)), says("so be it"))}
	return newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store, LeaseTTL: 6 * time.Second}, Tools: []adapter.Source{slow}})
}

// renewals counts how often the leases of a memory store are renewed, until fails.
func renewals() (store record.Store, all *atomic.Int64, fails *atomic.Bool) {
	all, fails = new(atomic.Int64), new(atomic.Bool)
	return watch(record.NewMemory(), func(c *storeCall) error {
		if c.Method == "renew" {
			all.Add(1)
			if fails.Load() {
				return errors.New("no connection is free")
			}
		}
		return c.Do()
	}), all, fails
}

// TestLeasesAreRenewedTogether has a thousand runs of a process renew their leases by one statement at a time.
func TestLeasesAreRenewedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all, _ := renewals()
		a := slowAgent(t, store, time.Minute)
		var group sync.WaitGroup
		for i := range 1000 {
			group.Go(func() {
				got, err := a.Run(t.Context(), human("go"), agent.WithRun(fmt.Sprint("r", i)))
				check.Same(t, i, []any{got.Output, err}, []any{"so be it", nil})
			})
		}
		group.Wait()
		within(t, "renewals of all in a minute, one each 2 s", all.Load(), 25, 35)
	})
}

// TestReleaseDuringARenewal has a run end while its lease is renewed: it must not be held again.
func TestReleaseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "renew" {
				time.Sleep(time.Second)
			}
			return c.Do()
		})
		a := slowAgent(t, store, 2500*time.Millisecond) // a renewal begins after 2 s
		var group sync.WaitGroup
		for i := range 2 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 700 * time.Millisecond)
				check.NoError(t, check.Err(a.Run(t.Context(), human("go"), agent.WithRun(fmt.Sprint(i)))))
			})
		}
		group.Wait()
		for i := range 2 {
			check.Equal(t, "the end of the lease", load(t, store, run.Key{ID: fmt.Sprint(i)}).Head.HeldUntil, time.Time{})
		}
	})
}

// The work on runs whose leases cannot be renewed is stopped, and nobody is said to have them. A run that was taken stops alone.
func TestLeaseThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _, fails := renewals()
		a := slowAgent(t, store, time.Minute)
		failed := make(chan error, 2)
		for _, id := range []string{"taken", "late"} {
			go func() {
				_, err := a.Run(t.Context(), human("go"), agent.WithRun(id))
				failed <- err
			}()
		}
		time.Sleep(5 * time.Second)
		key := run.Key{ID: "taken"}
		check.Must(t, store.Release(t.Context(), record.Lease{Key: key, Epoch: load(t, store, key).Head.Epoch}))
		check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})))
		err := <-failed
		check.Is(t, err, record.ErrConflict, "taken")
		check.Text(t, err, "held by another process", "taken")
		fails.Store(true)
		start := time.Now()
		err = <-failed
		check.Text(t, err, "could not be renewed for 6s", "late")
		check.Text(t, err, "no connection is free", "late")
		within(t, "the time of the lease, after which the work is stopped", time.Since(start), 4*time.Second, 10*time.Second)
	})
}

// A run whose lease cannot be confirmed has not failed: its calls are stopped, and its last outcomes stored if the store takes them.
func TestOutcomesOfAnUnconfirmedLease(t *testing.T) {
	for failing, want := range map[string]string{"renew": "slept 50 s", "renew and append": unknown} {
		synctestRun(t, failing, func(t *testing.T) {
			var gone atomic.Bool
			store := watch(record.NewMemory(), func(c *storeCall) error {
				if gone.Load() && strings.Contains(failing, c.Method) {
					return errAway
				}
				return c.Do()
			})
			late := func(next mcpclient.Handler) mcpclient.Handler {
				return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
					if r.Name == "echo" {
						time.Sleep(50*time.Second + time.Millisecond) // 10 s before the end of the lease nothing is sent
					}
					return next(ctx, r)
				}
			}
			toolset, _ := open(t, &adapter.Options{ClientOptions: &mcpclient.Options{Middleware: []mcpclient.Middleware{late}}})
			a := withTools(t, play(uses(sleep("1", 50), toolCall("2", "echo", "{}"), sleep("3", 3600)), says("done")), toolset,
				&agent.Options{Durable: agent.Durable{Store: store, LeaseTTL: leaseTTL}, ParallelWrites: true})
			began, ended := time.Now(), begin(t.Context(), a)
			time.Sleep(time.Second)
			gone.Store(true)
			check.Is(t, (<-ended).err, errAway)
			within(t, "end", time.Since(began), 50*time.Second, 56*time.Second)
			gone.Store(false)
			check.Equal(t, "first result", results(resumed(t, a).Messages)[0], want)
		})
	}
}

const leaseTTL = time.Minute

// halting is the store of a process that is stopped after the commit of an intent, for two leases:
// until then that commit and a renewal under way do not return. Later renewals get the error.
func halting(store record.Store, renewal error) *watched {
	var woken atomic.Bool
	return watch(store, func(c *storeCall) error {
		switch c.Method {
		case "append":
			err := c.Do()
			if len(changesOf[*ledger.Intent](c.Records)) > 0 {
				time.Sleep(2 * leaseTTL)
				woken.Store(true)
			}
			return err
		case "renew":
			c.Ctx = context.WithoutCancel(c.Ctx)
			if !woken.Load() {
				time.Sleep(3 * leaseTTL)
			}
			if renewal != nil {
				return renewal
			}
		}
		return c.Do()
	})
}

// A process that is stopped between the commit of an intent and the call sends nothing unless it still holds the run.
func TestNothingIsSentWithoutTheRun(t *testing.T) {
	down := errors.New("the store is down")
	for name, tt := range map[string]struct {
		taken        bool // another process has taken the run
		renewal, err error
		effects      int
	}{
		"taken over":     {true, nil, record.ErrConflict, 0},
		"not taken over": {false, nil, nil, 1},
		"not renewed":    {false, down, down, 0},
	} {
		for _, tool := range []string{"remote", "local"} {
			synctestRun(t, tool+" "+name, func(t *testing.T) {
				effects, s := 0, emptyServer()
				s.addTool("remote", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					effects++
					return text("done"), nil
				})
				toolset := s.box(t, nil)
				local := adapter.Func("local", "", func(context.Context, struct{}) (string, error) { effects++; return "done", nil }, nil)
				store := record.NewMemory()
				a := withTools(t, play(uses(toolCall("1", tool, "{}")), says("done")), toolset, &agent.Options{
					Durable: agent.Durable{Store: halting(store, tt.renewal), LeaseTTL: leaseTTL}, Tools: []adapter.Source{local},
				})
				ended := begin(t.Context(), a)
				time.Sleep(leaseTTL + leaseTTL/2)
				if tt.taken {
					check.Must(t, check.Err(store.Acquire(t.Context(), theRun, record.Holder{Name: "other", TTL: time.Hour})))
				}
				end := <-ended
				check.Is(t, end.err, tt.err)
				check.Same(t, "effects, and whether the run has ended", []any{effects, load(t, store, theRun).Head.Status.Ended()},
					[]any{tt.effects, tt.err == nil})
			})
		}
	}
}
