package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

func TestCallTool(t *testing.T) {
	playAll(t, bothEras(conversation{name: "tools", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		type sum struct{ Sum int }
		got, err := mcpclient.CallToolAs[sum](ctx, c, "add", map[string]int{"a": 1, "b": 2})
		check.That(t, err == nil && got.Sum == 3, "add: got %+v, %v", got, err)
		failed := wantError[*mcp.ToolError](t, check.Err(mcpclient.CallToolAs[sum](ctx, c, "add", nil)))
		check.That(t, failed.Result.Tool == "add" && strings.Contains(failed.Error(), "a is missing"), "add without arguments: got %v", failed)
		refused := wantError[*mcp.RPCError](t, check.Err(c.CallTool(ctx, "nope", nil)))
		check.That(t, refused.Code == mcp.CodeInvalidParams && string(refused.Data) == `{"name":"nope"}`, "nope: got %v with data %s", refused, refused.Data)
		res, err := c.CallTool(ctx, "add", json.RawMessage(`{"n":9007199254740993}`))
		check.That(t, err == nil && strings.Contains(string(res.StructuredContent), "9007199254740993"), "large number: got %+v, %v", res, err)
		for _, broken := range []string{"content", "array", "null"} {
			check.Is(t, check.Err(c.CallTool(ctx, "add", nil)), mcp.ErrInvalidResult, broken)
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
			overModernHTTP(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s,{"name":"plain","inputSchema":{}}]}}`, m.ID, test)
			}, func(t *testing.T, c *mcpclient.Client) {
				p, err := mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)
				check.Require(t, err == nil && len(p.Items) == 2, "%s: got %+v, %v, want both tools", test, p, err)
				odd := p.Items[0]
				got := string(odd.InputSchema) + string(odd.OutputSchema)
				check.That(t, !strings.Contains(test, schema) || strings.Contains(got, schema), "got the schemas %s, want %s", got, schema)
			})
		}
	}
}

func TestBadArguments(t *testing.T) {
	playAll(t, []conversation{{name: "capabilities", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, args := range []any{[]int{1}, "text", make(chan int), json.RawMessage(`{"a":`), json.RawMessage(`7`)} {
			check.Text(t, check.Err(c.CallTool(ctx, "add", args)), `call tool "add": arguments: `, fmt.Sprint(args))
		}
		check.Text(t, check.Err(c.CallTool(ctx, "add", []byte(`{"a":1}`))), "json.RawMessage", "bytes")
		ping(t, ctx, c)
	}}})
}

func TestPromptsAndResources(t *testing.T) {
	playAll(t, bothEras(conversation{name: "prompts_resources", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		p, err := c.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"})
		check.That(t, err == nil && p.Messages[0].Content.(*mcp.TextContent).Text == "Greet Ada", "got prompt %+v, %v", p, err)
		wantError[*mcp.RPCError](t, check.Err(c.GetPrompt(ctx, "greet", nil)))
		r, err := c.ReadResource(ctx, "file:///a")
		check.That(t, err == nil && r.Contents[0].Text == "hi" && r.Contents[0].Blob == nil && string(r.Contents[1].Blob) == "\x00\x01",
			"got resource %+v, %v", r, err)
		wantCode(t, check.Err(c.ReadResource(ctx, "file:///b")), mcp.CodeResourceNotFound)
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
				check.That(t, err != nil && err.Error() == `get prompt "p": arguments: `+problem, "got %v, want %s", err, problem)
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
			check.That(t, text == want && (err == nil || strings.Contains(err.Error(), `call tool "a": `)), "%s: got %v, %v, want %s", result, got, err, want)
		})
	}
}

// CallToolAs returns a string result as the tool's text, or decoded if it is JSON. For other types the error quotes the result.
func TestCallToolAsText(t *testing.T) {
	for text, want := range map[string]string{`The sum is 3.`: "The sum is 3.", `\"quoted\"`: "quoted", ``: ""} {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.replyAll(`{"id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, text)
			got, err := mcpclient.CallToolAs[string](t.Context(), c, "a", nil)
			check.That(t, err == nil && got == want, "%s: got %q, %v, want %q", text, got, err, want)
			err = check.Err(mcpclient.CallToolAs[int](t.Context(), c, "a", nil))
			check.Text(t, err, "text (there is no structured content) into int: ")
			check.Text(t, err, want)
		})
	}
}

func TestExpand(t *testing.T) {
	got, err := (&mcp.ResourceTemplate{URITemplate: "file:///{+path}{?q}"}).Expand(map[string]string{"path": "a/c", "q": "x&y", "unused": "x"})
	check.That(t, err == nil && got == "file:///a/c?q=x%26y", "got %q, %v", got, err)
	check.Text(t, check.Err((&mcp.ResourceTemplate{URITemplate: "{broken"}).Expand(nil)), `"{broken"`)
}

func TestCompletion(t *testing.T) {
	language := &mcp.CompleteParams{Prompt: "review", Argument: "language", Value: "py"}
	any := &mcp.CompleteParams{Prompt: "p", Argument: "a"}
	playAll(t, bothEras(conversation{name: "completion", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		wantCompletion(t, c, language, &mcp.Completion{Values: []string{"python", "pytorch"}, Total: new(10), HasMore: true})
		file := &mcp.CompleteParams{Template: "file:///{dir}/{name}", Argument: "name", Filled: map[string]string{"dir": "src"}}
		wantCompletion(t, c, file, &mcp.Completion{Values: []string{}})
		got, err := c.Complete(ctx, any)
		check.That(t, err == nil && len(got.Values) == 100 && got.Values[99] == "99" && got.HasMore,
			"101 values: got %+v, %v, want the first 100 and HasMore", got, err)
		check.Is(t, check.Err(c.Complete(ctx, any)), mcp.ErrInvalidResult, "no completion in the result")
		err = check.Err(c.Complete(ctx, any))
		wantCode(t, err, mcp.CodeInvalidParams)
		check.Text(t, err, `argument "a" of "p"`)
		check.Text(t, check.Err(c.Complete(ctx, &mcp.CompleteParams{Argument: "a"})), "Prompt or Template", "no reference")
	}}))
	playAll(t, []conversation{
		{name: "completion_2024-11-05", opts: speaking(mcp.Revision20241105), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			p := *language
			p.Filled = map[string]string{"style": "terse"}
			wantCompletion(t, c, &p, &mcp.Completion{Values: []string{"python"}})
		}},
		{name: "completion_undeclared", opts: speaking(mcp.Revision20250326), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			err := check.Err(c.Complete(ctx, language))
			check.Is(t, err, mcpclient.ErrUndeclared)
			check.Text(t, err, "the server does not offer completions")
		}},
	})
}

func wantCompletion(t *testing.T, c *mcpclient.Client, p *mcp.CompleteParams, want *mcp.Completion) {
	t.Helper()
	check.Same(t, "completion", check.Value(c.Complete(t.Context(), p))(t), want)
}

// An impossible total counts as absent.
func TestCompletionTotal(t *testing.T) {
	for total, want := range map[string]*int{"-1": nil, "1.5": nil, "null": nil, "0": new(0), "7": new(7)} {
		inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"completion":{"values":[],"total":%s}}}`, total)
			wantCompletion(t, c, &mcp.CompleteParams{Prompt: "p", Argument: "a"}, &mcp.Completion{Values: []string{}, Total: want})
		})
	}
}

func forecast(schema string) *mcp.Tool {
	return &mcp.Tool{Name: "forecast", OutputSchema: json.RawMessage(schema)}
}

const degrees = `{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"]}`

func TestOutputCheck(t *testing.T) {
	playAll(t, bothEras(conversation{name: "output", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		checked := mcpclient.WithOutputCheck(forecast(degrees), new(schemacheck.Validator))
		check.NoError(t, check.Err(c.CallTool(ctx, "forecast", nil, checked)), "fits")
		res, err := c.CallTool(ctx, "forecast", nil, checked)
		e := wantError[*mcpclient.OutputError](t, err)
		bad := wantError[*mcpclient.SchemaViolation](t, err)
		check.That(t, res == nil && e.Result.Text() == "t" && errors.Is(err, mcp.ErrInvalidResult) && bad.Path == "/degrees" && strings.Contains(bad.Message, "number"), "does not fit: got %+v, %v with %+v", res, err, bad)
		wantError[*mcpclient.SchemaViolation](t, check.Err(c.CallTool(ctx, "forecast", nil, checked)))
		res, err = c.CallTool(ctx, "forecast", nil, checked)
		check.That(t, err == nil && res.IsError, "failure of the tool: got %+v, %v", res, err)
		bad = wantError[*mcpclient.SchemaViolation](t, check.Err(c.CallTool(ctx, "forecast", nil, checked)))
		check.That(t, bad.Path == "" && strings.Contains(bad.Message, "object"), "null: got %+v", bad)
		// A call that cannot be checked is not sent.
		check.Text(t, check.Err(c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(forecast(`{"$schema":"urn:own"}`), new(schemacheck.Validator)))), "unsupported dialect", "unknown dialect")
		check.NoError(t, check.Err(c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(&mcp.Tool{}, nil))), "no schema")
	}}))
}

// weather is a server with tools that have these output schemas and the same result.
func weather(schema, result string) mcpclient.Transport {
	return library(map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      `{"tools":[{"name":"forecast","inputSchema":{},"outputSchema":` + schema + `},{"name":"plain","inputSchema":{}}]}`,
		"tools/call":      result,
	})
}

// strict is a validator that rejects everything.
type strict struct{ compiled []string }

func (s *strict) Compile(schema json.RawMessage) (func(json.RawMessage) error, error) {
	s.compiled = append(s.compiled, string(schema))
	return func(json.RawMessage) error { return &mcpclient.SchemaViolation{Path: "/x", Message: "never"} }, nil
}

// A validator gets the schema byte for byte: that of the option, otherwise that of the client.
func TestValidatorOfOutputs(t *testing.T) {
	const schema = `{ "own" : 1.0 }`
	first, second := new(strict), new(strict)
	c := connected(t, weather(degrees, `{"content":[],"structuredContent":1}`), mcpclient.Options{Validator: first})
	for _, v := range []mcpclient.Validator{nil, second} {
		_, err := c.CallTool(t.Context(), "forecast", nil, mcpclient.WithOutputCheck(forecast(schema), v))
		want := `call tool "forecast": output of tool "forecast": at "/x": never`
		check.That(t, fmt.Sprint(err) == want, "got %v, want %s", err, want)
	}
	for _, v := range []*strict{first, second} {
		check.Same(t, "schemas", v.compiled, []string{schema})
	}
}

// The error for a missing validator names the package that has one.
func TestNoValidator(t *testing.T) {
	const want = "package mcpclient/schemacheck"
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		check.Text(t, check.Err(c.CallTool(t.Context(), "forecast", nil, mcpclient.WithOutputCheck(forecast(degrees), nil))), want, "CallTool")
	})
}

// moody is a validator with fixed errors.
type moody struct{ compile, check error }

func (m moody) Compile(json.RawMessage) (func(json.RawMessage) error, error) {
	return func(json.RawMessage) error { return m.check }, m.compile
}

// The host's validator also checks answers to forms.
func TestValidatorOfForms(t *testing.T) {
	const form = `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}}`
	for name, test := range map[string]struct {
		validator mcpclient.Validator
		action    string
		asked     bool
		refusal   string // "" for a result
	}{
		"none":             {nil, mcp.ElicitAccept, true, ""},
		"content":          {moody{}, mcp.ElicitAccept, true, ""},
		"strict":           {new(strict), mcp.ElicitAccept, true, "the answer does not fit the form"},
		"cannot tell":      {moody{check: errors.New("no")}, mcp.ElicitAccept, true, "internal error"},
		"strict, declined": {new(strict), mcp.ElicitDecline, true, ""},
		"no compiler":      {moody{compile: errors.New("no")}, mcp.ElicitAccept, false, "elicitation: requested schema: no"},
	} {
		opts := legacy()
		opts.Validator = test.validator
		asked := false
		opts.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = true
			return &mcp.ElicitResult{Action: test.action, Content: map[string]any{"n": "Ada"}}, nil
		})
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.send(form)
			m, refusal := p.next(), ""
			if m.Error != nil {
				refusal = m.Error.Message
			}
			check.That(t, asked == test.asked && refusal == test.refusal,
				"%s: got asked %t and %q, want %t and %q", name, asked, refusal, test.asked, test.refusal)
		})
	}
}
