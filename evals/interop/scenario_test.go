package interop

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// TestMain makes this program a server process of its own tests.
func TestMain(m *testing.M) {
	testenv.Main(m, map[string]func() int{"go-sdk": serveGo, "mcp-go": serveMark})
}

// roleCommand runs this program as a child process in a role of TestMain.
func roleCommand(t *testing.T, role string) *mcpclient.Command {
	program := check.Value(os.Executable())(t)
	return &mcpclient.Command{Path: program, Env: []string{testenv.Role(role)}}
}

// peer is a server for the scenario, with its differences from the protocol.
type peer struct {
	name string

	// looseProgress: notices of progress travel apart from the result, and come in any order or after it, too late for the call.
	looseProgress bool

	// visits: it has a tool that asks the person to visit a URL.
	visits bool

	// oneWay: it cannot ask the client anything.
	oneWay bool

	// ignoresCancel: it does not tell a tool that its call was cancelled.
	ignoresCancel bool

	// silent are changes that it does not report by the protocol, though it may accept the subscription.
	silent []mcp.ChangeKind
}

const (
	workspace = "file:///workspace" // the client's root
	notes     = "file:///notes.txt" // a resource of the server
)

// scenario uses all features of the server of [goServer]. force is the forced
// revision, "" to probe; want is the expected revision.
func scenario(t *testing.T, p peer, transport mcpclient.Transport, force, want string) {
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	c, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
		Protocol:    mcpclient.Protocol{Revision: force},
		Sampling:    mcp.SamplingFunc(sample),
		Elicitation: person{},
		Roots:       []mcp.Root{{URI: workspace, Name: "workspace"}},
		Timeouts:    mcpclient.Timeouts{Probe: testenv.Patience / 2}, // its process may be slow to start
		Logger:      slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	check.Must(t, err)
	defer func() { check.NoError(t, c.Close()) }()
	got := c.Server()
	check.That(t, got.Revision == want && got.Info.Name == p.name, "got server %+v, want %s at revision %s", got, p.name, want)
	listAll(t, ctx, c, p)
	callAll(t, ctx, c)
	if !p.oneWay {
		answerAll(t, ctx, c, p)
	}
	progress(t, ctx, c, p)
	readAll(t, ctx, c)
	complete(t, ctx, c)
	watch(t, ctx, c, p)
	cancelOne(t, ctx, c, p)
	check.NoError(t, c.Ping(ctx))
}

func sample(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	if p.MaxTokens != 64 || len(p.Messages) != 1 {
		return nil, errors.New("unexpected request")
	}
	return &mcp.CreateMessageResult{Model: "tiny", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}, nil
}

func listAll(t *testing.T, ctx context.Context, c *mcpclient.Client, p peer) {
	tools, want := toolsOf(t, ctx, c), 17
	if p.visits {
		want++
	}
	check.That(t, len(tools) == want && tools["think"] != nil && tools["filler_7"] != nil,
		"got tools %q, want all %d", slices.Sorted(maps.Keys(tools)), want)
}

func callAll(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	sum, err := mcpclient.CallToolAs[struct{ Sum int }](ctx, c, "add", map[string]int{"a": 17, "b": 25})
	check.That(t, err == nil && sum.Sum == 42, "add: got %+v, %v", sum, err)
	res, err := c.CallTool(ctx, "fail", nil)
	var failed *mcp.ToolError
	check.That(t, err == nil && errors.As(res.Err(), &failed) && strings.Contains(failed.Error(), "out of paper"), "fail: got %+v, %v", res, err)
	_, err = c.CallTool(ctx, "nonexistent", nil)
	var rpc *mcp.RPCError
	check.That(t, errors.As(err, &rpc), "nonexistent: got %v, want an RPCError", err)
}

// answerAll calls the tools that ask the client.
func answerAll(t *testing.T, ctx context.Context, c *mcpclient.Client, p peer) {
	answers := map[string]string{"think": `"tea"`, "ask": `"green and blue"`, "where": workspace}
	if p.visits {
		answers["visit"] = "accept"
	}
	check.NoError(t, c.SetRoots(ctx, []mcp.Root{{URI: workspace, Name: "workspace"}}), "set roots")
	for tool, want := range answers {
		res, err := c.CallTool(ctx, tool, nil)
		check.That(t, err == nil && res.Err() == nil && strings.Contains(res.Text(), want), "%s: got %+v, %v, want %s in its text", tool, res, err, want)
		if tool == "ask" && res != nil {
			check.Contains(t, "ask, with the default of the field left out", res.Text(), `"dark"`)
		}
	}
}

func progress(t *testing.T, ctx context.Context, c *mcpclient.Client, p peer) {
	var notices []float64
	count := func() {
		res, err := c.CallTool(ctx, "count", nil, mcpclient.WithProgress(func(p mcp.Progress) { notices = append(notices, p.Progress) }))
		check.Require(t, err == nil && res.Text() == "counted", "count: got %+v, %v", res, err)
	}
	count()
	want := []float64{1, 2, 3}
	if p.looseProgress {
		for tries := 1; len(notices) == 0 && tries < 1000; tries++ {
			count()
		}
		check.Require(t, len(notices) != 0, "count: got no progress in 1000 calls")
		slices.Sort(notices)
		want = slices.DeleteFunc(want, func(n float64) bool { return !slices.Contains(notices, n) })
	}
	check.Same(t, "progress of count", notices, want)
}

func readAll(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	resources, templates, prompts := all(t, c.Resources(ctx)), all(t, c.ResourceTemplates(ctx)), all(t, c.Prompts(ctx))
	for _, r := range resources {
		res, err := c.ReadResource(ctx, r.URI)
		check.That(t, err == nil && len(res.Contents) == 1 && res.Contents[0].Text == "buy milk", "read %s: got %+v, %v", r.URI, res, err)
	}
	for _, template := range templates {
		uri := check.Value(template.Expand(map[string]string{"name": "tea"}))(t)
		res, err := c.ReadResource(ctx, uri)
		check.That(t, err == nil && len(res.Contents) == 1 && res.Contents[0].Text == "note tea", "read %s: got %+v, %v", uri, res, err)
	}
	for _, p := range prompts {
		res, err := c.GetPrompt(ctx, p.Name, map[string]string{"name": "Ada"})
		check.Require(t, err == nil && len(res.Messages) == 1, "prompt %s: got %+v, %v", p.Name, res, err)
		text, ok := res.Messages[0].Content.(*mcp.TextContent)
		check.That(t, ok && text.Text == "Greet Ada", "prompt %s: got %+v", p.Name, res.Messages[0].Content)
	}
	check.That(t, len(resources) == 1 && len(templates) == 1 && len(prompts) == 1,
		"got %d resources, %d templates, %d prompts, want one of each", len(resources), len(templates), len(prompts))
}

func complete(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	got, err := c.Complete(ctx, &mcp.CompleteParams{Prompt: "greet", Argument: "name", Value: "A"})
	check.That(t, err == nil && slices.Equal(got.Values, []string{"Ada"}), "complete: got %+v, %v, want Ada", got, err)
}

// watch makes the server change a tool and a resource, and waits for both notices. For silent
// changes it only checks that the server accepts the subscription.
func watch(t *testing.T, ctx context.Context, c *mcpclient.Client, p peer) {
	sub := check.Value(c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{notes}}))(t)
	defer func() { _ = sub.Close() }()
	check.Must(t, check.Err(c.CallTool(ctx, "change", nil)))
	want := []mcp.Change{{Kind: mcp.ToolsChanged}, {Kind: mcp.ResourceUpdated, URI: notes}}
	want = slices.DeleteFunc(want, func(c mcp.Change) bool { return slices.Contains(p.silent, c.Kind) })
	for len(want) > 0 {
		for change, err := range sub.Changes(ctx) {
			check.Require(t, err == nil, "%v, and no change of %v was heard", err, want)
			want = slices.DeleteFunc(want, func(c mcp.Change) bool { return c == change })
			break
		}
	}
}

// cancelOne cancels a call while the server works on it. The tool is told,
// unless the server ignores cancellation, and the connection stays usable.
func cancelOne(t *testing.T, ctx context.Context, c *mcpclient.Client, p peer) {
	hear := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, testenv.Patience)
		defer cancel()
		res, err := c.CallTool(ctx, "heard", nil)
		check.Require(t, err == nil && res.Text() == want, "the tool that waits: got %+v, %v, want it %s", res, err, want)
	}
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(short, "wait", nil)
		done <- err
	}()
	hear("waiting")
	cancel()
	check.Is(t, <-done, context.Canceled, "wait")
	if !p.ignoresCancel {
		hear("cancelled")
	}
	check.NoError(t, check.Err(c.CallTool(ctx, "add", addArgs{1, 1})), "add after a cancelled call")
}

// person fills in form fields without a default, and agrees to visit URLs.
type person struct{}

func (person) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: true}
}

func (person) Elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}
	fields, err := forms.Fields(p)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, f := range fields {
		if f.Default == nil {
			content[f.Name] = someAnswer(f)
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// someAnswer is a valid answer to a field.
func someAnswer(f *forms.Field) any {
	switch f.Kind {
	case forms.KindBoolean:
		return true
	case forms.KindNumber, forms.KindInteger:
		if f.Min != nil {
			return *f.Min
		}
		return 1
	case forms.KindChoice:
		return f.Options[0].Value
	case forms.KindChoices:
		return []string{f.Options[0].Value}
	}
	if f.Format == "email" {
		return "ada@example.com"
	}
	answer := "green and blue"
	if f.Max != nil {
		answer = answer[:min(len(answer), int(*f.Max))]
	}
	return answer
}
