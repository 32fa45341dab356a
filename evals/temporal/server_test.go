package temporaleval

import (
	"context"
	"flag"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/server/temporaltest"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
)

var update = flag.Bool("update", false, "write the histories of workflows into the test data of agent/temporal")

// embedded enables the tests with a Temporal server.
var embedded = os.Getenv("TEMPORAL_SERVER") == "embedded"

// opted skips a test that starts a Temporal server, unless these are enabled.
func opted(t *testing.T) {
	t.Helper()
	if !embedded {
		t.Skip("set TEMPORAL_SERVER=embedded, or use -tags embedded, for the tests with a Temporal server")
	}
}

// service is a Temporal server with a store of runs.
type service struct {
	client client.Client
	runs   *temporal.Client
	store  record.Store

	mu    sync.Mutex
	notes []int
	began chan struct{}
}

func newService(t *testing.T) *service {
	t.Helper()
	opted(t)
	server := temporaltest.NewServer()
	t.Cleanup(server.Stop)
	c, err := client.Dial(client.Options{HostPort: server.GetFrontendHostPort(), Namespace: server.GetDefaultNamespace(), Logger: quiet(), Identity: "test"})
	check.Must(t, err)
	t.Cleanup(c.Close)
	for range 2 { // the second call finds them
		check.Must(t, temporal.AddSearchAttributes(t.Context(), c, server.GetDefaultNamespace()))
	}
	s := &service{client: c, store: record.NewMemory(), began: make(chan struct{}, 8)}
	s.runs = temporal.NewClient(c, s.store, &temporal.ClientOptions{SearchAttributes: true})
	return s
}

type note struct {
	N    int  `json:"n"`
	Ask  bool `json:"ask,omitempty"`
	Hang bool `json:"hang,omitempty"`
}

// play is a model with one turn of calls after the other, and then an answer.
type play [][]string

func (play) Info() model.Info { return model.Info{NoStreaming: true} }

func (p play) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Response: &model.Response{Message: p.next(r.Messages)}}, nil)
	}
}

func (p play) next(messages []run.Message) run.Message {
	turn := 0
	for _, m := range messages {
		if m.Role == run.RoleAssistant {
			turn++
		}
	}
	if turn >= len(p) {
		return run.Text(run.RoleAssistant, "done")
	}
	m := run.Message{Role: run.RoleAssistant}
	for i, arguments := range p[turn] {
		m.Parts = append(m.Parts, run.Part{Type: run.PartCall, ID: string(rune('a'+turn)) + string(rune('0'+i)), Name: "note", Arguments: arguments})
	}
	return m
}

func (s *service) agent(t *testing.T, model play, prompt string, ttl time.Duration) *agent.Agent {
	t.Helper()
	a, err := agent.New(model, &agent.Options{
		Name: "helper", System: prompt, Durable: agent.Durable{Store: s.store, LeaseTTL: 2 * time.Second}, Person: agent.Person{QuestionTTL: ttl, Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			if strings.Contains(string(a.Arguments), `"ask"`) {
				return agent.AskPerson(ctx, a)
			}
			return approval.Decision{Allow: true}, nil
		}},
		Tools: []adapter.Source{adapter.Func("note", "Notes a number.", s.note, nil)},
	})
	check.Must(t, err)
	return a
}

func (s *service) note(ctx context.Context, n note) (string, error) {
	if n.Hang {
		s.began <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n.N)
	return "noted", nil
}

// work runs a worker until stop is called.
func (s *service) work(t *testing.T, a *agent.Agent, o *temporal.WorkerOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- temporal.Work(ctx, s.client, []*agent.Agent{a}, o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		check.Is(t, <-done, context.Canceled, "the worker ended")
	})
	t.Cleanup(stop)
	return stop
}

// waits returns the questions of a run once its workflow waits.
func (s *service) waits(t *testing.T, key run.Key) []*run.Question {
	t.Helper()
	for range 600 {
		var state struct {
			Status run.Status `json:"status"`
		}
		value, err := s.client.QueryWorkflow(t.Context(), temporal.WorkflowID(key), "", "state")
		if err == nil && value.Get(&state) == nil && state.Status == run.StatusWaiting {
			log := check.Value(s.store.Load(t.Context(), key))(t)
			return check.Value(log.Questions())(t)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("run %v does not wait", key)
	return nil
}

const asks = `{"n":1,"ask":true}`

// TestService runs agents on a Temporal server, and replays the histories with another agent.
func TestService(t *testing.T) {
	s := newService(t)
	for _, tt := range []struct {
		name    string
		model   play
		ttl     time.Duration
		options temporal.WorkerOptions
		after   int
		play    func(t *testing.T, key run.Key, stop func())
		want    run.Status
		notes   []int
	}{
		{name: "done", model: play{{`{"n":1}`}, {`{"n":2}`, `{"n":2}`}}, want: run.StatusFinished, notes: []int{1, 2, 2}},
		{name: "answers", model: play{{asks, `{"n":2,"ask":true}`}, {`{"n":3,"ask":true}`}}, want: run.StatusFinished, notes: []int{1, 2, 3},
			play: func(t *testing.T, key run.Key, _ func()) { s.answers(t, key) }},
		{name: "expired", model: play{{asks}}, ttl: 500 * time.Millisecond, want: run.StatusFinished},
		{name: "cancelled", model: play{{`{"n":1,"hang":true}`}}, want: run.StatusCancelled,
			play: func(t *testing.T, key run.Key, _ func()) {
				<-s.began
				check.NoError(t, s.runs.Cancel(t.Context(), key))
			}},
		{name: "cancelled_waiting", model: play{{asks}}, want: run.StatusCancelled,
			play: func(t *testing.T, key run.Key, _ func()) {
				s.waits(t, key)
				check.NoError(t, s.runs.Cancel(t.Context(), key))
			}},
		{name: "continued", model: play{{`{"n":1}`}, {asks}, {`{"n":3}`}}, want: run.StatusFinished, notes: []int{1, 1, 3}, after: 3,
			play: func(t *testing.T, key run.Key, _ func()) {
				check.NoError(t, s.runs.Reply(t.Context(), key, s.waits(t, key)[0].Allow()))
			}},
		{name: "stopped", model: play{{`{"n":1,"hang":true}`}}, want: run.StatusFinished, options: temporal.WorkerOptions{Grace: 100 * time.Millisecond},
			play: func(t *testing.T, _ run.Key, stop func()) {
				<-s.began
				stop()
				s.work(t, s.agent(t, nil, "other", 0), nil)
			}},
		{name: "changed", model: play{{asks}}, want: run.StatusFinished, notes: []int{1},
			play: func(t *testing.T, key run.Key, stop func()) {
				q := s.waits(t, key)[0]
				stop()
				s.work(t, s.agent(t, nil, "another prompt, and a model that is done", 0), nil)
				check.NoError(t, s.runs.Reply(t.Context(), key, q.Allow()))
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.notes = nil
			a := s.agent(t, tt.model, "short", tt.ttl)
			stop := s.work(t, a, &tt.options)
			s.runs = temporal.NewClient(s.client, s.store, &temporal.ClientOptions{SearchAttributes: true})
			key := s.start(t, a, tt.name, tt.after)
			first := s.client.GetWorkflow(t.Context(), temporal.WorkflowID(key), "").GetRunID()
			if tt.play != nil {
				tt.play(t, key, stop)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := s.runs.Result(ctx, key)
			check.Require(t, err == nil && got.Status == tt.want, "got %+v, %v, want %s", got, err, tt.want)
			slices.Sort(s.notes)
			check.That(t, slices.Equal(s.notes, tt.notes), "got notes %v, want %v", s.notes, tt.notes)
			s.replay(t, key, first, tt.name)
		})
	}
	s.listed(t)
}

// start starts a run, whose workflow continues as new after so many steps, or as often as the client says.
func (s *service) start(t *testing.T, a *agent.Agent, id string, after int) run.Key {
	t.Helper()
	options := []agent.RunOption{agent.WithRun(id), agent.WithTenant("acme")}
	if after == 0 {
		return check.Value(s.runs.Start(t.Context(), a, agent.Text("go"), options...))(t)
	}
	key := check.Value(a.Begin(t.Context(), agent.Text("go"), options...))(t)
	job := map[string]any{
		"target": map[string]any{"tenant": key.Tenant, "id": key.ID, "agent": a.Name()}, "attributes": true, "after": after,
	}
	o := client.StartWorkflowOptions{ID: temporal.WorkflowID(key), TaskQueue: "mcpchain"}
	check.Must(t, check.Err(s.client.ExecuteWorkflow(t.Context(), o, "mcpchain.Run", job)))
	return key
}

// answers replies to two questions at once, to one of them twice. It also sends a late and a forged reply.
func (s *service) answers(t *testing.T, key run.Key) {
	q := s.waits(t, key)
	forged := run.Reply{Question: "ask_forged", Action: run.ActionAllow}
	check.Is(t, s.runs.Reply(t.Context(), key, forged), run.ErrNotAsked)
	check.Is(t, s.runs.Reply(t.Context(), run.Key{Tenant: "other", ID: key.ID}, q[0].Allow()), record.ErrNotFound)
	check.Is(t, s.runs.Reply(t.Context(), key, run.Reply{Question: q[0].ID, Action: run.ActionAccept}), run.ErrUnfit)
	var all sync.WaitGroup
	for _, a := range []run.Reply{q[0].Allow(), q[1].Allow(), q[1].Allow()} {
		all.Go(func() { check.NoError(t, s.runs.Reply(t.Context(), key, a)) })
	}
	all.Wait()
	var last *run.Question
	for last == nil {
		for _, one := range s.waits(t, key) {
			if one.ID != q[0].ID && one.ID != q[1].ID {
				last = one
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	check.Is(t, s.runs.Reply(t.Context(), key, q[0].Deny("late")), record.ErrReplied)
	check.NoError(t, s.runs.Reply(t.Context(), key, last.Allow()))
	check.NoError(t, check.Err(s.runs.Result(t.Context(), key)))
	check.NoError(t, s.runs.Reply(t.Context(), key, q[1].Allow())) // again, after the end
	check.Is(t, s.runs.Reply(t.Context(), key, q[1].Deny("")), record.ErrReplied)
}

// replay replays the history of a workflow with an agent of other tools and another prompt.
func (s *service) replay(t *testing.T, key run.Key, runID, name string) {
	t.Helper()
	events := s.client.GetWorkflowHistory(t.Context(), temporal.WorkflowID(key), runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var history historypb.History
	for events.HasNext() {
		history.Events = append(history.Events, check.Value(events.Next())(t))
	}
	r := worker.NewWorkflowReplayer()
	check.NoError(t, temporal.Register(r, []*agent.Agent{s.agent(t, nil, "other", 0)}, nil))
	err := r.ReplayWorkflowHistory(quiet(), &history)
	check.That(t, err == nil, "replay: %v", err)
	data := check.Value(protojson.MarshalOptions{Indent: " "}.Marshal(&history))(t)
	for _, word := range []string{"noted", "short"} {
		check.That(t, !strings.Contains(history.String(), word), "the history has %q", word)
	}
	if !*update {
		return
	}
	path := filepath.Join("..", "..", "agent", "temporal", "testdata", name+".json")
	check.Must(t, os.WriteFile(path, append(data, '\n'), 0o644))
}

func (s *service) listed(t *testing.T) {
	query := `McpchainTenant = "acme" AND McpchainStatus = "cancelled" AND McpchainAgent = "helper"`
	for range 100 {
		list, err := s.client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err == nil && len(list.Executions) == 2 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the cancelled runs are not listed")
}

// TestServiceOfTheProgram runs tests of "mcpchain serve -api" with a Temporal server: users,
// questions, streams, stops and restarts are as in one process.
func TestServiceOfTheProgram(t *testing.T) {
	opted(t)
	server := temporaltest.NewServer()
	t.Cleanup(server.Stop)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run",
		"^(TestTwoUsers|TestQuestions|TestStreamResumes|TestStop|TestRestart|TestIdempotencyKey|TestStoredRuns)$", ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "mcpchain", "internal", "service")
	cmd.Env = append(os.Environ(), "SERVICE_TEMPORAL="+server.GetFrontendHostPort(), "SERVICE_NAMESPACE="+server.GetDefaultNamespace())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	check.NoError(t, err)
}

// TestSchedule lets a schedule of a Temporal server begin a run with a question.
func TestSchedule(t *testing.T) {
	s := newService(t)
	a := s.agent(t, play{{asks}}, "short", 0)
	s.work(t, a, nil)
	action := check.Value(s.runs.ScheduleAction(a, run.Key{Tenant: "acme", ID: "report"}, agent.Text("Write it.")))(t)
	handle, err := s.client.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID: "acme-report", Spec: client.ScheduleSpec{CronExpressions: []string{"0 3 1 1 *"}},
		Action: action,
	})
	check.Must(t, err)
	check.Must(t, handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	key := s.begun(t)
	about, err := s.client.DescribeWorkflowExecution(t.Context(), temporal.WorkflowID(key), "")
	if got := about.GetWorkflowExecutionInfo().GetPriority().GetFairnessKey(); err != nil || got != "acme" {
		t.Errorf("got the fairness key %q, %v, want the tenant", got, err)
	}
	first := s.client.GetWorkflow(t.Context(), temporal.WorkflowID(key), "").GetRunID()
	check.NoError(t, s.runs.Reply(t.Context(), key, s.waits(t, key)[0].Allow()))
	got, err := s.runs.Result(t.Context(), key)
	check.That(t, err == nil && got.Status == run.StatusFinished && got.Messages[0].Text() == "Write it." && len(s.notes) == 1,
		"got %+v, %v, notes %v, want a run that is done", got, err, s.notes)
	check.That(t, key.Tenant == "acme" && strings.HasPrefix(key.ID, "report-20"), "got run %v, want one of acme's with a time", key)
	s.replay(t, key, first, "scheduled")
}

func (s *service) begun(t *testing.T) run.Key {
	t.Helper()
	for range 1200 {
		for head, err := range s.store.List(t.Context(), record.Query{AllTenants: true}) {
			check.Must(t, err)
			return head.Key
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the schedule has begun no run")
	return run.Key{}
}
