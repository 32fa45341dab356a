package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func() int{"life": func() int {
		l := new(life)
		err := json.Unmarshal([]byte(os.Getenv(lifeVariable)), l)
		if err == nil {
			err = l.live(context.Background())
		}
		must(0, err)
		return 0
	}})
}

// life is a process that begins a run or continues it, until it kills itself at a write or the run is over.
type life struct {
	Dir   string // of the store
	URL   string // of the world
	At    int    // number of the write; 0: it does not kill itself
	Keep  bool   // the write is kept
	By    string // how it continues: "" (Resume), recover or advance
	Limit int64  // of the run's tokens, for a run that spends them; 0: one through every feature

	agent *agent.Agent
	store record.Store
}

const lifeVariable = "MCPCHAIN_TEST_LIFE"

func (l *life) live(ctx context.Context) error {
	l.store = (&dying{at: l.At, keep: l.Keep, die: die}).in(must(filestore.Open(l.Dir, &filestore.Options{NoSync: true})))
	if l.Limit > 0 {
		l.agent = l.newSpender(l.open(ctx))
	} else {
		l.agent = l.newAgent(l.open(ctx))
	}
	for {
		kept, err := l.store.Load(ctx, theRun)
		switch {
		case errors.Is(err, record.ErrNotFound):
			err = l.begin(ctx)
		case err != nil:
		case kept.Head.Status.Ended():
			return nil
		default:
			err = l.resume(ctx, l.answers(ctx, kept.Records))
		}
		if err != nil && !errors.Is(err, agent.ErrWaiting) && !strings.Contains(err.Error(), tooLittle) {
			return err
		}
	}
}

// begin begins the run, and continues it until it is over or waits.
func (l *life) begin(ctx context.Context) error {
	if l.Limit > 0 {
		return check.Err(l.agent.Run(ctx, human("go"), agent.WithRun(theRun.ID)))
	}
	return errorOf3(agent.RunAs[weatherReport](ctx, l.agent, human("go"), agent.WithRun(theRun.ID)))
}

func (l *life) resume(ctx context.Context, answers []run.Reply) error {
	if l.By == "" {
		return check.Err(l.agent.Resume(ctx, theRun, answers...))
	}
	if err := l.agent.Reply(ctx, theRun, answers...); err != nil {
		return err
	}
	if l.By == "recover" {
		return agent.Recover(ctx, l.store, []*agent.Agent{l.agent}, &agent.RecoverOptions{UntilIdle: true, PollInterval: time.Millisecond})
	}
	for {
		next, err := l.agent.Advance(ctx, theRun, nil)
		if err != nil || next.Status != run.StatusRunning {
			return err
		}
	}
}

// answers are the person's answers to the open questions.
func (l *life) answers(ctx context.Context, records []run.Record) (answers []run.Reply) {
	for _, q := range ledger.Open(must(ledger.StateOf(records))) {
		if q.Kind == run.QuestionDoubt {
			answers = append(answers, l.doubt(ctx, q))
			continue
		}
		answer := q.Allow()
		switch {
		case q.Kind == run.QuestionForm:
			answer = must(q.Accept(map[string]any{"name": "Ann"}))
		case q.Kind == run.QuestionURL || q.Kind == run.QuestionSignIn:
			answer = must(q.Accept(nil))
		case strings.Contains(string(q.Arguments), "edit"):
			answer = allowWith(q, fmt.Appendf(nil, `{"n":%q,"by":"Ann"}`, number(q.Arguments)))
		}
		l.tell(ctx, fmt.Sprint(q.Path, q.Call, q.Kind), q.ID)
		answers = append(answers, answer)
	}
	return answers
}

// doubt is what the person says who looks whether a call has run.
func (l *life) doubt(ctx context.Context, q *run.Question) run.Reply {
	if q.Tries == 0 || q.Sent.IsZero() {
		log.Fatalf("got the doubt %+v, want how often and when the call was sent", q)
	}
	if l.tell(ctx, number(q.Arguments), "") == "0" {
		return run.Reply{Question: q.ID, Action: run.ActionNotRun}
	}
	return run.Reply{Question: q.ID, Action: run.ActionKnown, Reason: noted}
}

// tell tells the world of a question, and returns how often the world has done what it is about.
func (l *life) tell(ctx context.Context, about, ask string) (done string) {
	body := must(json.Marshal(map[string]string{"about": about, "ask": ask}))
	response := must(http.DefaultClient.Do(must(http.NewRequestWithContext(ctx, http.MethodPost, l.URL+"/asked", bytes.NewReader(body)))))
	defer response.Body.Close()
	return string(must(io.ReadAll(response.Body)))
}

// locked sends requests to a server at which a person has to sign in.
type locked struct{}

func (locked) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		return nil, errors.Join(response.Body.Close(), &mcp.SignInError{URL: "https://host.test/sign-in"})
	}
	return response, err
}

func (l *life) open(ctx context.Context) *adapter.Toolset {
	poet := mcp.SamplingFunc(func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		if _, approved := inquiry.Approved(ctx, p); p.SystemPrompt == "review" && !approved {
			return nil, &inquiry.ReviewLaterError{Model: "poet-1", Params: p}
		}
		return &mcp.CreateMessageResult{Model: "poet-1", Content: []mcp.Content{&mcp.TextContent{Text: "roses"}}}, nil
	})
	return must(adapter.Open(ctx, []adapter.Server{
		{Name: "plain", Transport: &mcpclient.HTTP{URL: l.URL + "/plain"}},
		{Name: "keyed", Transport: &mcpclient.HTTP{URL: l.URL + "/keyed"}, KeyInMeta: adapter.IdempotencyKeyMeta},
		{Name: "locked", Transport: &mcpclient.HTTP{URL: l.URL + "/locked", Client: &http.Client{Transport: locked{}}}, KeyInMeta: adapter.IdempotencyKeyMeta},
		{Name: "legacy", Transport: &mcpclient.HTTP{URL: l.URL + "/legacy"}, KeyInMeta: adapter.IdempotencyKeyMeta},
	}, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: poet}}))
}

// newAgent makes an agent with others, one for each feature.
func (l *life) newAgent(toolset *adapter.Toolset) *agent.Agent {
	opts := agent.Options{Tools: []adapter.Source{toolset}, Person: agent.Person{Approve: byWord}}
	all := []adapter.Source{toolset}
	for _, other := range []struct {
		name  string
		model step
		ask   bool
		hooks []agent.Hook
		make  func(*agent.Agent, string, string) (adapter.Source, error)
	}{
		{"helper", help, true, nil, agent.NewSubAgent},
		{"stopper", stopping, false, []agent.Hook{{AfterTool: stopAfter}}, agent.NewSubAgent},
		{"closer", closing, false, nil, agent.NewHandoff},
	} {
		opts.Durable.AskInDoubt, opts.Hooks = other.ask, other.hooks
		all = append(all, must(other.make(must(agent.New(play(other.model), &opts)), other.name, "Helps.")))
	}
	return must(agent.New(play(lead), &agent.Options{
		Durable: agent.Durable{Store: l.store}, Tools: all, Person: agent.Person{Approve: byWord}, Compact: shorten,
	}))
}

// newSpender makes an agent with a sub-agent, which spend tokens until the limit.
func (l *life) newSpender(toolset *adapter.Toolset) *agent.Agent {
	opts := agent.Options{Tools: []adapter.Source{toolset}, Model: agent.ModelSettings{MaxTokens: 500}}
	helper := must(agent.New(play(spends(func(ctx context.Context, p prompt) (*model.Response, error) {
		if len(p.Request.Messages) > 1 {
			return says("helped")(ctx, p)
		}
		id := p.Request.Messages[0].Text()
		return uses(toolCall("h"+id, "write", fmt.Sprintf(`{"n":"h%s"}`, id)))(ctx, p)
	})), &opts))
	opts.Tools = append(opts.Tools, must(agent.NewSubAgent(helper, "helper", "Helps.")))
	opts.Durable.Store, opts.Limits = l.store, run.Limits{Tokens: l.Limit}
	return must(agent.New(play(spends(func(ctx context.Context, p prompt) (*model.Response, error) {
		n := fmt.Sprint(after(p.Request.Messages))
		if after(p.Request.Messages)%2 == 1 {
			return untilFinal(toolCall(n, "helper", fmt.Sprintf(`{"task":%q}`, n)))(ctx, p)
		}
		return untilFinal(toolCall(n, "write", fmt.Sprintf(`{"n":%q}`, n)))(ctx, p)
	})), &opts))
}

func spends(s step) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		return using(s, int64(len(fmt.Sprint(lines(p.Request.Messages)))/4), 200)(ctx, p)
	}
}

func byWord(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	if strings.Contains(string(a.Arguments), `"approval"`) {
		return agent.AskPerson(ctx, a)
	}
	return approval.Decision{Allow: true}, nil
}

func die(context.Context) error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// lead is the model: it continues after the last call of its history, through each feature once.
func lead(ctx context.Context, p prompt) (*model.Response, error) {
	next := after(p.Request.Messages)
	n := fmt.Sprint(next)
	arguments, task := fmt.Sprintf(`{"n":%q}`, n), fmt.Sprintf(`{"task":%q}`, n)
	steps := [][]run.Part{
		{toolCall(n, "note", fmt.Sprintf(`{"n":%q,"approval":"allow"}`, n))}, {toolCall(n, "write", fmt.Sprintf(`{"n":%q,"approval":"edit"}`, n))},
		{toolCall(n, "form", arguments)}, {toolCall(n, "url", arguments)}, {toolCall(n, "sample", arguments)},
		{toolCall(n, "review", arguments)}, {toolCall(n, "task", arguments)},
		{toolCall("w"+n, "write", fmt.Sprintf(`{"n":"w%s"}`, n)), toolCall("f"+n, "form", fmt.Sprintf(`{"n":"f%s"}`, n)),
			toolCall(n, "note", arguments)},
		{toolCall(n, "helper", task)}, {toolCall(n, "stopper", task)}, {toolCall(n, "enter", arguments)},
		{toolCall(n, "final_answer", `{"city":"Oslo","degree":"cold"}`)},
	}
	switch {
	case next < len(steps):
		return uses(steps[next]...)(ctx, p)
	case next == len(steps):
		return says("cold")(ctx, p)
	}
	return uses(toolCall(n, "closer", `{}`))(ctx, p)
}

// help is the model of the sub-agent: its task is a number.
func help(ctx context.Context, p prompt) (*model.Response, error) {
	id := p.Request.Messages[0].Text()
	switch len(p.Request.Messages) {
	case 1:
		return uses(toolCall("f"+id, "form", fmt.Sprintf(`{"n":"sf%s"}`, id)))(ctx, p)
	case 3:
		return uses(toolCall("h"+id, "write", fmt.Sprintf(`{"n":"sh%s","approval":"allow"}`, id)))(ctx, p)
	case 5:
		return uses(toolCall("n"+id, "note", fmt.Sprintf(`{"n":"sn%s"}`, id)))(ctx, p)
	}
	return says("helped: "+strings.Join(lines(p.Request.Messages), " "))(ctx, p)
}

// stopping is the model of a sub-agent whose hook stops it after the first of two calls.
func stopping(ctx context.Context, p prompt) (*model.Response, error) {
	return uses(toolCall("s1", "write", `{"n":"s1"}`), toolCall("s2", "write", `{"n":"s2"}`))(ctx, p)
}

func stopAfter(_ context.Context, _ *agent.State, c *agent.Call, result *run.Part) error {
	return agent.StopRun("stopped: " + result.Text)
}

// closing is the model of the agent that takes the run over, and gives its answer.
func closing(ctx context.Context, p prompt) (*model.Response, error) {
	text := strings.Join(lines(p.Request.Messages), "\n")
	switch {
	case !strings.Contains(text, "c1="):
		return uses(toolCall("c1", "write", `{"n":"c1"}`))(ctx, p)
	case !strings.Contains(text, "c2="):
		return uses(toolCall("c2", "final_answer", `{"city":"Oslo","degree":"mild"}`))(ctx, p)
	}
	return uses(toolCall("c3", "final_answer", `{"city":"Oslo","degree":7}`))(ctx, p)
}

// after is the number of the next step: each numbered call is one, and so are words.
func after(messages []run.Message) (next int) {
	for _, m := range messages {
		for _, part := range m.Parts {
			switch part.Type {
			case run.PartCall:
				if _, err := fmt.Sscan(part.ID, &next); err == nil {
					next++
				}
			case run.PartText:
				if m.Role == run.RoleAssistant && part.Text == "cold" {
					next++
				}
			}
		}
	}
	return next
}

// shorten replaces all but two turns with a summary. It has all that was said, so that the last history has all that was done.
func shorten(_ context.Context, h []run.Message, _ compact.Budget) (*compact.Result, error) {
	if len(h) < 9 {
		return nil, nil
	}
	left := len(h) - 4
	var said strings.Builder
	for _, m := range h[:left] {
		for _, p := range m.Parts {
			fmt.Fprintln(&said, m.Role, p.ID, p.Name, p.Arguments, p.Text)
		}
	}
	summary := run.Part{Type: run.PartSummary, Text: said.String()}
	return &compact.Result{Replaced: left, Messages: []run.Message{{Role: run.RoleUser, Parts: []run.Part{summary}}}}, nil
}
