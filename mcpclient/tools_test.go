package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestCallTool(t *testing.T) {
	playAll(t, bothEras(conversation{name: "tools", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		type sum struct{ Sum int }
		got, err := mcpclient.CallToolAs[sum](ctx, c, "add", map[string]int{"a": 1, "b": 2})
		wrong(t, err != nil || got.Sum != 3, "add: got %+v, %v", got, err)
		_, err = mcpclient.CallToolAs[sum](ctx, c, "add", nil)
		if e := wantError[*mcp.ToolError](t, err); e.Result.Tool != "add" || !strings.Contains(e.Error(), "a is missing") {
			t.Errorf("add without arguments: got %v", e)
		}
		_, err = c.CallTool(ctx, "nope", nil)
		if e := wantError[*mcp.RPCError](t, err); e.Code != mcp.CodeInvalidParams || string(e.Data) != `{"name":"nope"}` {
			t.Errorf("nope: got %v with data %s", e, e.Data)
		}
		res, err := c.CallTool(ctx, "add", json.RawMessage(`{"n":9007199254740993}`))
		wrong(t, err != nil || !strings.Contains(string(res.StructuredContent), "9007199254740993"), "large number: got %+v, %v", res, err)
		for _, broken := range []string{"content", "array", "null"} {
			res, err := c.CallTool(ctx, "add", nil)
			wrong(t, !errors.Is(err, mcp.ErrInvalidResult), "broken %s: got %+v, %v", broken, res, err)
		}
	}}))
}

// A tool with unusable schemas is listed unchanged, and hides no other.
func TestUnusableSchemas(t *testing.T) {
	for _, schema := range []string{`null`, `7`, `"text"`, `[]`, `{"type":7}`, `{"$ref":"https://example.com/s"}`, `{"$schema":"urn:own"}`, `{"$defs":{"a":{"$anchor":"b"}},"x-own":[1.0]}`} {
		for _, test := range []string{
			`{"name":"odd","inputSchema":` + schema + `}`,
			`{"name":"odd","inputSchema":{},"outputSchema":` + schema + `}`,
			`{"name":"odd","title":"no schema"}`,
		} {
			h := func(w http.ResponseWriter, _ *http.Request, m message) {
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s,{"name":"plain","inputSchema":{}}]}}`, m.ID, test)
			}
			overModernHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
				p, err := mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)
				if err != nil || len(p.Items) != 2 {
					t.Fatalf("%s: got %+v, %v, want both tools", test, p, err)
				}
				odd := p.Items[0]
				got := string(odd.InputSchema) + string(odd.OutputSchema)
				wrong(t, strings.Contains(test, schema) && !strings.Contains(got, schema), "got the schemas %s, want %s", got, schema)
			})
		}
	}
}

func TestBadArguments(t *testing.T) {
	playAll(t, []conversation{{name: "capabilities", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, args := range []any{[]int{1}, "text", make(chan int), json.RawMessage(`{"a":`), json.RawMessage(`7`)} {
			_, err := c.CallTool(ctx, "add", args)
			wantText(t, err, `call tool "add": arguments: `, fmt.Sprint(args))
		}
		wantText(t, errOf(c.CallTool(ctx, "add", []byte(`{"a":1}`))), "json.RawMessage", "bytes")
		ping(t, ctx, c)
	}}})
}

func TestPromptsAndResources(t *testing.T) {
	playAll(t, bothEras(conversation{name: "prompts_resources", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		p, err := c.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"})
		wrong(t, err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ada", "got prompt %+v, %v", p, err)
		_, err = c.GetPrompt(ctx, "greet", nil)
		wantError[*mcp.RPCError](t, err)
		r, err := c.ReadResource(ctx, "file:///a")
		if err != nil || r.Contents[0].Text != "hi" || r.Contents[0].Blob != nil || string(r.Contents[1].Blob) != "\x00\x01" {
			t.Errorf("got resource %+v, %v", r, err)
		}
		_, err = c.ReadResource(ctx, "file:///b")
		wantCode(t, err, mcp.CodeResourceNotFound)
	}}))
}

// The arguments of a prompt are strings, from any value that marshals to such an object.
func TestPromptArguments(t *testing.T) {
	type review struct {
		Language string  `json:"language"`
		Depth    int     `json:"depth,omitempty"`
		Strict   bool    `json:"strict,omitzero"`
		Author   *string `json:"author,omitempty"`
	}
	for want, args := range map[string]any{
		`{"name":"p"}`: nil,
		`{"name":"p","arguments":{"language":"go"}}`:                              map[string]string{"language": "go"},
		`{"name":"p","arguments":{"language":"","depth":"3","strict":"true"}}`:    review{Depth: 3, Strict: true},
		`{"name":"p","arguments":{"language":"C"}}`:                               &review{Language: "C"},
		`{"name":"p","arguments":{"n":"9007199254740993","x":"1e2","y":"false"}}`: json.RawMessage(`{"n":9007199254740993,"x":1e2,"y":false,"z":null}`),
		`error: "n" is not a string, number or boolean: [1]`:                      map[string]any{"n": []int{1}},
		`error: want a JSON object, got "[1]"`:                                    []int{1},
		`error: "deep" is not a string, number or boolean: {"a":1}`:               json.RawMessage(`{"deep":{"a":1}}`),
	} {
		var sent json.RawMessage
		opts := legacy()
		opts.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			if r.Method != "prompts/get" {
				return next(ctx, r)
			}
			sent = r.Params
			return json.RawMessage(`{"messages":[]}`), nil
		})}
		opts.Protocol.AllowUndeclared = true
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, _ *peer) {
			_, err := c.GetPrompt(t.Context(), "p", args)
			if problem, ok := strings.CutPrefix(want, "error: "); ok {
				wrong(t, err == nil || err.Error() != `get prompt "p": arguments: `+problem, "got %v, want %s", err, problem)
			} else if err != nil || string(sent) != want {
				t.Errorf("got %s, %v, want %s", sent, err, want)
			}
		})
	}
}

func TestCallToolAs(t *testing.T) {
	type answer struct{ N int }
	for result, want := range map[string]string{
		`{"structuredContent":{"n":1},"content":[{"type":"text","text":"{\"n\":2}"}]}`: "{1}",
		`{"structuredContent":null,"content":[{"type":"text","text":"{\"n\":2}"}]}`:    "{2}",
		`{"content":[{"type":"text","text":"{\"n\":"},{"type":"text","text":"2}"}]}`:   "{2}",
		`{"structuredContent":null,"content":[]}`:                                      "{0}",
		`{"content":[{"type":"text","text":"two"}]}`:                                   "error",
		`{"structuredContent":[1]}`:                                                    "error",
		`{"content":[]}`:                                                               "error",
		`{"isError":"yes"}`:                                                            "error",
		`{"structuredContent":{"n":01}}`:                                               "error",
	} {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"id":%s,"result":%s}`, result)
			got, err := mcpclient.CallToolAs[answer](t.Context(), c, "a", nil)
			text := fmt.Sprint(got)
			if err != nil {
				text = "error"
			}
			if text != want || err != nil && !strings.Contains(err.Error(), `call tool "a": `) {
				t.Errorf("%s: got %v, %v, want %s", result, got, err, want)
			}
		})
	}
}

// CallToolAs returns a string result as the text of the tool, or decoded if it is JSON. For
// other types the error quotes the result.
func TestCallToolAsText(t *testing.T) {
	for text, want := range map[string]string{`The sum is 3.`: "The sum is 3.", `\"quoted\"`: "quoted", ``: ""} {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go func() {
				for range 2 {
					p.reply(`{"id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, text)
				}
			}()
			if got, err := mcpclient.CallToolAs[string](t.Context(), c, "a", nil); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
			}
			_, err := mcpclient.CallToolAs[int](t.Context(), c, "a", nil)
			if err == nil || !strings.Contains(err.Error(), "text (there is no structured content) into int: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s into a number: got %v, want an error that shows it", text, err)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	for _, test := range []struct {
		template string
		values   map[string]string
		want     string
	}{
		{"file:///{path}", map[string]string{"path": "a b/c"}, "file:///a%20b%2Fc"},
		{"file:///{+path}{?q}", map[string]string{"path": "a/c", "q": "x&y"}, "file:///a/c?q=x%26y"},
		{"file:///{path}", nil, "file:///"},
		{"file:///{path}", map[string]string{"path": "käse"}, "file:///k%C3%A4se"},
		{"file:///fixed", map[string]string{"unused": "x"}, "file:///fixed"},
	} {
		got, err := (&mcp.ResourceTemplate{URITemplate: test.template}).Expand(test.values)
		wrong(t, err != nil || got != test.want, "%s: got %q, %v, want %q", test.template, got, err, test.want)
	}
	if _, err := (&mcp.ResourceTemplate{URITemplate: "{broken"}).Expand(nil); err == nil || !strings.Contains(err.Error(), `"{broken"`) {
		t.Errorf("got %v, want an error with the template", err)
	}
}
