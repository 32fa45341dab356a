package mcpchain_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// The recipes of docs/cookbook.md, each with a test that runs it.

type userKey struct{}

func user(ctx context.Context) string {
	name, _ := ctx.Value(userKey{}).(string)
	return name
}

func openForUsers(ctx context.Context, url string, token func(user string) string) (*adapter.Toolset, error) {
	headers := adapter.ContextHeaders(nil, func(ctx context.Context) http.Header {
		return http.Header{"Authorization": {"Bearer " + token(user(ctx))}}
	})
	server := adapter.Server{Name: "crm", Transport: &mcpclient.HTTP{URL: url, Client: &http.Client{Transport: headers}}}
	return adapter.Open(ctx, []adapter.Server{server}, &adapter.Options{User: user})
}

func ask(ctx context.Context, a *agent.Agent, name, question string) (*agent.Result, error) {
	ctx = context.WithValue(ctx, userKey{}, name)
	return a.Run(ctx, agent.Text(question), agent.WithTenant(name), agent.WithRun("main"))
}

// Each user's calls carry the user's token, and two users have a run of one name each.
func TestCookbookManyUsers(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, nil)
	var mu sync.Mutex
	var tokens []string
	sdk.AddTool(server, &sdk.Tool{Name: "look_up"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		tokens = append(tokens, r.Extra.Header.Get("Authorization"))
		return &sdk.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	tools := must(openForUsers(t.Context(), web.URL, func(user string) string { return "of-" + user }))
	defer tools.Close()
	looksUp, says := agenttest.CallTools("look_up", `{}`), agenttest.Say("Done.")
	a := must(agent.New(agenttest.Play(looksUp, says, looksUp, says), &agent.Options{Tools: []adapter.Source{tools}, Durable: agent.Durable{Store: record.NewMemory()}}))
	for _, name := range []string{"ann", "bob"} {
		got, err := ask(t.Context(), a, name, "Who owes us?")
		check.That(t, err == nil && got.Output == "Done." && got.Usage.Turns == 2, "%s: got %+v, %v", name, got, err)
	}
	check.Same(t, "tokens at the server", tokens, []string{"Bearer of-ann", "Bearer of-bob"})
}

func durable(ctx context.Context, model agent.Model, tools []adapter.Source) error {
	store := must(filestore.Open("runs", nil))
	a := must(agent.New(model, &agent.Options{Name: "clerk", Tools: tools, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: store}}))
	err := agent.Recover(ctx, store, []*agent.Agent{a}, nil)
	return err
}

// Recover continues with a run that another process has begun.
func TestCookbookDurable(t *testing.T) {
	t.Chdir(t.TempDir())
	store := must(filestore.Open("runs", nil))
	model := agenttest.Play(agenttest.Say("Done."))
	before := must(agent.New(model, &agent.Options{Name: "clerk", Durable: agent.Durable{Store: store}}))
	key := must(before.Begin(t.Context(), agent.Text("Go on."), agent.WithRun("begun")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- durable(ctx, model, nil) }()
	for !must(store.Load(t.Context(), key)).Head.Status.Ended() {
		select {
		case err := <-ended:
			t.Fatalf("Recover has ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	check.Equal(t, "status", must(store.Load(t.Context(), key)).Head.Status, run.StatusFinished)
	cancel()
	check.Is(t, <-ended, context.Canceled, "the end of the context")
}

func budget(model agent.Model, tools []adapter.Source) *agent.Agent {
	prices := &price.Table{
		Date:   "2026-11-22", // when they were looked up
		Models: []price.Price{{Model: "gpt-6-sol*", Currency: "USD", Input: 1_250_000, Output: 10_000_000}},
	}
	a := must(agent.New(model, &agent.Options{
		Tools:  tools,
		Model:  agent.ModelSettings{Prices: prices},
		Limits: run.Limits{Turns: 10, Active: 5 * time.Minute, Cost: map[string]int64{"USD": 200_000}}, // 20 cents
	}))
	return a
}

// What a reply costs counts, and the budget leaves no room for another call of that size.
func TestCookbookBudget(t *testing.T) {
	spends := func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		step := agenttest.CallTools("today", `{}`)
		if p.Request.ToolChoice == model.ChoiceNone {
			step = agenttest.Say("Out of money.")
		}
		return step.WithUsage(1000, min(p.Request.MaxTokens, 4000))(ctx, p)
	}
	today := adapter.Func("today", "Tells the day of the week.", func(context.Context, struct{}) (string, error) { return "Sunday", nil }, nil)
	got, err := budget(agenttest.PlayRepeating(spends).WithInfo(model.Info{Name: "gpt-6-sol"}), []adapter.Source{today}).Run(t.Context(), agent.Text("Which day is it?"))
	check.That(t, err == nil && got.Output == "Out of money." && got.Usage.Cost["USD"] >= 100_000 && got.StopReason == "max_cost" && got.Usage.Cost["USD"] <= 200_000, "got %+v, %v", got, err)
}

func someTools() adapter.Server {
	server := adapter.Server{
		Name: "files", Transport: &mcpclient.Command{Path: "file-server"},
		Deny:   []string{"delete_*"},
		Policy: adapter.Policy{Trust: adapter.TrustHints}, // tools that say that they only read run without a question
	}
	return server
}

// One tool is left out, one runs without a question, and one with a question.
func TestCookbookSomeTools(t *testing.T) {
	answers := func(context.Context, *agenttest.Call) (string, error) { return "ok", nil }
	server := someTools()
	server.Transport = agenttest.NewServer(
		agenttest.Tool{Name: "read_file", ReadOnly: true, Run: answers}, agenttest.Tool{Name: "write_file", Run: answers}, agenttest.Tool{Name: "delete_file", Run: answers},
	)
	tools := must(adapter.Open(t.Context(), []adapter.Server{server}, nil))
	defer tools.Close()
	model := agenttest.Play(agenttest.CallTools("read_file", "{}", "write_file", "{}"))
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tools}, Person: agent.Person{Approve: agent.AskPerson}}))
	got, err := a.Run(t.Context(), agent.Text("Change the file."))
	check.That(t, err == nil && len(got.Questions) == 1 && got.Questions[0].Tool == "write_file", "got %+v, %v, want a question about write_file", got, err)
	prompt := model.Turns()[0]
	check.Same(t, "the model has", prompt.Tools(), []string{"read_file", "write_file"})
}

func ownTools(model agent.Model) *agent.Agent {
	today := adapter.Func("today", "Tells the date.", func(context.Context, struct{}) (string, error) {
		return time.Now().Format(time.DateOnly), nil
	}, &adapter.FuncOptions{ReadOnly: true})
	reader := must(agent.New(model, &agent.Options{System: "Say in one line what a letter wants."}))
	letters := must(agent.NewSubAgent(reader, "reader", "Reads one letter."))
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{today, letters}}))
	return a
}

// The agent and its sub-agent share a model: the second step is the reader's.
func TestCookbookOwnTools(t *testing.T) {
	model := agenttest.Play(
		agenttest.CallTools("reader", `{"task":"Read the letter."}`),
		agenttest.Say("It wants money."),
		agenttest.CallTools("today", `{}`),
		agenttest.Say("Pay today."),
	)
	got, err := ownTools(model).Run(t.Context(), agent.Text("What have I got to do?"))
	check.That(t, err == nil && got.Output == "Pay today." && got.Usage.Turns == 4 && got.Usage.Calls == 2, "got %+v, %v", got, err)
	third := model.Turns()[2]
	check.Same(t, "the model was told", third.Results(), []string{"It wants money."})
}

func lends(ctx context.Context, host openai.ClientConfig, servers []adapter.Server) *adapter.Toolset {
	sampler := must(sampling.New(host, "gpt-6-luna", &sampling.Options{Limits: sampling.Limits{Total: sampling.Budget{Requests: 20, Tokens: 100_000}}}))
	tools := must(adapter.Open(ctx, servers, &adapter.Options{ClientOptions: &mcpclient.Options{Sampling: sampler}}))
	return tools
}

// The server gets the completion of the host's model.
func TestCookbookSampling(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"model":"gpt-6-luna","choices":[{"message":{"role":"assistant","content":"In short."},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`))
	}))
	defer web.Close()
	host := openai.DefaultConfig("key")
	host.BaseURL = web.URL
	notes := agenttest.NewServer(agenttest.Tool{Name: "sum_up", Run: func(ctx context.Context, c *agenttest.Call) (string, error) {
		return c.Sample(ctx, "Sum this up: …", 100)
	}})
	tools := lends(t.Context(), host, []adapter.Server{{Name: "notes", Transport: notes}})
	defer tools.Close()
	model := agenttest.Play(agenttest.CallTools("sum_up", "{}"), agenttest.Say("Done."))
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tools}}))
	check.Must(t, check.Err(a.Run(t.Context(), agent.Text("Sum up my notes."))))
	last := model.Turns()[1]
	check.Contains(t, "the model was told", strings.Join(last.Results(), " "), "In short.")
}
