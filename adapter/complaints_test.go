package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Each test that the guide lists beside a complaint exists.
func TestComplaintsAreAnswered(t *testing.T) {
	guide, err := os.ReadFile("../docs/adapter.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| complaint | here | tests |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) < 30 {
		t.Fatalf("got %d complaints, want the table", len(lines))
	}
	tests := map[string]string{} // the test files of a folder
	for _, line := range lines {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		for part := range strings.SplitSeq(cells[len(cells)-1], "; ") {
			folder, names, ok := strings.Cut(part, ": ")
			if !ok {
				folder, names = "adapter", part
			}
			if tests[folder] == "" {
				tests[folder] = source(t, folder)
			}
			for name := range strings.SplitSeq(names, ", ") {
				if !strings.Contains(tests[folder], "\nfunc "+name+"(") {
					t.Errorf("%s: there is no test %q in %s", cells[0], name, folder)
				}
			}
		}
	}
}

// source returns the text of all tests of a folder.
func source(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// Tools without parameters were refused: "object schema missing properties", or
// null where a list belongs.
func TestToolsWithoutParameters(t *testing.T) {
	for _, s := range []string{`{}`, `{"type":"object"}`, `{"type":"object","properties":{},"required":[]}`, `{"type":"object","properties":{},"required":null}`, `{"type":"object","properties":null}`} {
		tool := toolWith(t, s)
		for _, p := range profile.All() {
			root, strict, changes := parametersOf(t, tool, p)
			if written := string(tool.input.Parameters) != s; written && len(changes) == 0 {
				t.Errorf("%s for %s: got no change, want what was spelled out", s, p)
			}
			if required, ok := root["required"]; ok && required == nil {
				t.Errorf("%s for %s: got %s, want no null", s, p, show(root))
			}
			if err := subsets[p](root, strict); err != nil {
				t.Errorf("%s for %s: %v\n%s", s, p, err, show(root))
			}
		}
		if got, err := tool.arguments(""); err != nil || string(got) != "{}" {
			t.Errorf("%s: got %s, %v, want no arguments", s, got, err)
		}
	}
}

// These tests repeat what users of other adapters complained about.

// Only the first page of tools was listed.
func TestAllPagesAreListed(t *testing.T) {
	p := &peer{Server: sdk.NewServer(&sdk.Implementation{Name: "p", Version: "1"}, &sdk.ServerOptions{PageSize: 2}), ended: make(chan struct{})}
	for i := range 7 {
		p.tool(fmt.Sprintf("t%d", i), object, echo)
	}
	if got := toolNamesOf(open(t, nil, Server{Name: "p", Transport: p.transport(t)})); len(got) != 7 {
		t.Errorf("got %v, want all 7", got)
	}
}

// The first block was taken for the result: results without blocks, or with an
// image first, ended in a panic, and later blocks were lost.
func TestEveryBlockCounts(t *testing.T) {
	results := map[string]*sdk.CallToolResult{
		"none":  {Content: []sdk.Content{}},
		"image": {Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}, &sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}}},
		"file":  {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "repo://a.go", Text: "package a"}}}},
		"link":  {Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///x", Name: "x"}}},
		"data":  {Content: []sdk.Content{}, StructuredContent: json.RawMessage(`{"n":1}`)},
	}
	p := newPeer()
	for name, res := range results {
		p.tool(name, object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return res, nil })
	}
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	for name, want := range map[string]string{
		"none":  "(the tool returned no content)",
		"image": "[image: image/png, 3 bytes]\na\nb",
		"file":  "[resource repo://a.go]\npackage a",
		"link":  "[resource link: file:///x, x]",
		"data":  `{"n":1}`,
	} {
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", name, ""))
		if r.Text != want || r.Err != nil || r.IsError {
			t.Errorf("%s: got %q, %v, want %q", name, r.Text, r.Err, want)
		}
		if content := r.message().Parts[0].(llms.ToolCallResponse).Content; content == "" {
			t.Errorf("%s: got an empty message, which providers refuse", name)
		}
		if (len(r.Media) == 1) != (name == "image") {
			t.Errorf("%s: got %d media, want the image as media and nothing else", name, len(r.Media))
		}
	}
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "data", ""))
	if string(r.Raw.StructuredContent) != `{"n":1}` {
		t.Errorf("got %s, want the structured content for the host", r.Raw.StructuredContent)
	}
}

// A tool that failed ended the run.
func TestAFailingToolDoesNotEndTheRun(t *testing.T) {
	p := newPeer().tool("fails", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, errors.New("no such file")
	})
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	tool, _ := ts.Catalog(profile.Plain).Lookup("fails")
	if text, err := callText(t.Context(), tool, "{}"); err != nil || !strings.Contains(text, "no such file") {
		t.Errorf("got %q, %v, want the failure as text", text, err)
	}
	if messages, err := ts.Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{call("1", "fails", "")}); err != nil || len(messages) != 1 {
		t.Errorf("got %v, %v, want an answer", messages, err)
	}
}

// No arguments at all, as streaming models send them, were not JSON.
func TestEmptyArguments(t *testing.T) {
	ts := open(t, nil, Server{Name: "p", Transport: newPeer().tool("x", object, echo).transport(t)})
	for _, args := range []string{"", " ", "null", "{}", `""`} {
		if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "x", args)); r.Text != "{}" {
			t.Errorf("%q: got %q, want no arguments", args, r.Text)
		}
	}
	if r := ts.Catalog(profile.Plain).Call(t.Context(), llms.ToolCall{ID: "1"}); r.Fatal() != nil || !r.IsError {
		t.Errorf("got %v for a call without a function, want text", r.Err)
	}
}

// Tools that needed more than 5 seconds failed, or tools that hang never did.
func TestSlowToolsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer().tool("slow", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			for i := range 20 {
				time.Sleep(4 * time.Minute)
				if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)}); err != nil {
					return nil, err
				}
			}
			return say("done"), nil
		})
		p.tool("wedged", object, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
		if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "slow", "")); r.Text != "done" {
			t.Errorf("got %q, %v, want the answer after 80 minutes", r.Text, r.Err)
		}
		start := time.Now()
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "wedged", ""))
		if took := time.Since(start); took != 5*time.Minute || !strings.Contains(r.Text, "neither an answer nor progress within 5m0s") {
			t.Errorf("got %q after %v, want the end of its patience after 5 minutes", r.Text, took)
		}
		_ = ts.Close()
	})
}

// Every call got its own session, so that servers lost their state.
func TestOneSessionForAllCalls(t *testing.T) {
	n := 0
	p := newPeer().tool("count", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		n++
		return say(fmt.Sprint(n)), nil
	})
	dialed := 0
	way := p.transport(t)
	ts := open(t, nil, Server{Name: "p", Transport: transportFunc(func(ctx context.Context) (mcpclient.Conn, error) { dialed++; return way.Dial(ctx) })})
	for i := range 3 {
		if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "count", "")); r.Text != fmt.Sprint(i+1) || dialed != 1 {
			t.Errorf("got %q over %d connections, want %d over one", r.Text, dialed, i+1)
		}
	}
}

// The only explanation was "Received tool input did not match expected schema".
func TestWrongArgumentsAreExplained(t *testing.T) {
	tool := toolWith(t, `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"mode":{"enum":["a","b"]}},"required":["line"]}}}}`)
	for args, want := range map[string]string{
		`{"edits":[{"line":1},{"mode":"a"}]}`: `at "/edits/1": missing required property "line"`,
		`{"edits":[{"line":1,"mode":"c"}]}`:   `at "/edits/0/mode": want one of "a", "b", got string "c"`,
		`{"edits":[{"line":1,"mode":"a"}]`:    "it ends too early",
	} {
		if _, err := tool.arguments(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// The tools were listed before every call of the model, or only once.
func TestToolsAreListedOnce(t *testing.T) {
	lists := 0
	transport, _ := scriptedBy(t, func(method string) string {
		switch method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			lists++
			return `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
		}
		return `{"content":[]}`
	})
	ts := open(t, &Options{Client: &legacy}, Server{Name: "p", Transport: transport})
	for range 5 {
		ts.Catalog(profile.Plain).Definitions()
		ts.Catalog(profile.Plain).Tools()
		ts.Catalog(profile.Plain).Call(t.Context(), call("1", "x", ""))
	}
	if lists != 1 {
		t.Errorf("got %d lists, want 1", lists)
	}
}
