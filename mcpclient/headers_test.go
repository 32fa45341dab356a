package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// overModernHTTP runs f with a client whose tool calls are answered by h.
func overModernHTTP(t *testing.T, h func(w http.ResponseWriter, r *http.Request, m message), f func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	overHTTP(t, modern(), h, f)
}

// overHTTP is overModernHTTP with options and changes of the transport.
func overHTTP(t *testing.T, o mcpclient.Options, h func(w http.ResponseWriter, r *http.Request, m message),
	f func(t *testing.T, c *mcpclient.Client), changes ...func(*mcpclient.HTTP),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, h)
		transport := &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}
		for _, change := range changes {
			change(transport)
		}
		f(t, connected(t, transport, o))
	})
}

func answerCall(w http.ResponseWriter, _ *http.Request, m message) {
	_, _ = io.WriteString(jsonWriter(w), answerTo(m))
}

func tool(name, schema string) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}
}

// AddToolDefinitions reports invalid tools and registers the others.
func TestAddToolDefinitions(t *testing.T) {
	overModernHTTP(t, nil, func(t *testing.T, c *mcpclient.Client) {
		for name, test := range map[string]struct{ schema, want string }{
			"no JSON":        {`{"properties"`, "not valid JSON"},
			"invalid header": {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "not empty"},
		} {
			err := c.AddToolDefinitions(tool("t", test.schema), tool("u", `{}`), nil)
			check.Text(t, err, `tool "t": `, name)
			check.Text(t, err, test.want, name)
			check.That(t, !strings.Contains(fmt.Sprint(err), `"u"`), "%s: got %v", name, err)
		}
	})
}

func TestParamHeaders(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"s":{"type":"string","x-mcp-header":"S"},
		"n":{"type":"integer","x-mcp-header":"N"},
		"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"type":"object","properties":{"in":{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"Deep"}}}}},
		"plain":{"type":"string"}}}`
	var got map[string]string
	overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
		got = map[string]string{}
		for key, values := range r.Header {
			if name, ok := strings.CutPrefix(key, "Mcp-Param-"); ok {
				got[name] = strings.Join(values, "|")
			}
		}
		answerCall(w, r, m)
	}, func(t *testing.T, c *mcpclient.Client) {
		call := func(args string) error {
			got = nil
			return check.Err(c.CallTool(t.Context(), "t", json.RawMessage(args)))
		}
		sends := func(args string, want map[string]string) {
			t.Helper()
			check.NoError(t, call(args), args)
			check.Same(t, args, got, want)
		}
		sends(`{"s":"unknown"}`, map[string]string{})
		check.Must(t, c.AddToolDefinitions(tool("t", schema)))
		for args, want := range map[string]map[string]string{
			`{"s":"us west 1","n":42,"b":true,"plain":"x"}`:        {"S": "us west 1", "N": "42", "B": "true"},
			`{"s":"","n":-7,"b":false}`:                            {"S": "", "N": "-7", "B": "false"},
			`{"s":" padded "}`:                                     {"S": "=?base64?IHBhZGRlZCA=?="},
			`{"s":"line1\nline2"}`:                                 {"S": "=?base64?bGluZTEKbGluZTI=?="},
			`{"s":"=?base64?literal?="}`:                           {"S": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
			`{"s":"a\tb"}`:                                         {"S": "=?base64?YQli?="},
			`{"s":"=?base64?"}`:                                    {"S": "=?base64?"},
			`{"s":"=?BASE64?YQ==?="}`:                              {"S": "=?BASE64?YQ==?="},
			`{"s":"Hello, \u4e16\u754c"}`:                          {"S": "=?base64?SGVsbG8sIOS4lueVjA==?="},
			`{"s":null,"n":null,"b":null,"o":null}`:                {},
			`{"o":{"in":{"s":"deep"}}}`:                            {"Deep": "deep"},
			`{"o":{"s":"elsewhere","in":{}},"in":{"s":"outside"}}`: {},
			`{"o":[{"in":{"s":"in a list"}}]}`:                     {},
			`{"o":{"in":[{"s":"in a list"}]}}`:                     {},
			`{"s":["a"],"n":{"a":1}}`:                              {},
			`{"n":4e1}`:                                            {"N": "40"},
			`{"n":-0}`:                                             {"N": "0"},
			`{"n":4.5}`:                                            {"N": "4.5"},
			`{"n":9007199254740991}`:                               {"N": "9007199254740991"},
			`{"n":-9007199254740991}`:                              {"N": "-9007199254740991"},
			`{}`:                                                   {},
		} {
			sends(args, want)
		}
		for _, n := range []string{"9007199254740992", "-9007199254740992", "1e400", "9007199254740993.0", "99999999999999999999"} {
			err := call(`{"n":` + n + `}`)
			check.That(t, err != nil && strings.Contains(err.Error(), "2^53-1") && got == nil, "%s: got %v, and the server %v", n, err, got)
		}
		check.NoError(t, check.Err(c.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"t","arguments":{"s":"custom"}}`))))
		check.Equal(t, "custom request", got["S"], "custom")
		check.Must(t, c.AddToolDefinitions(tool("t", `{"type":"object"}`)))
		sends(`{"s":"forgotten"}`, map[string]string{})
	})
}

func TestInvalidToolsLeftOut(t *testing.T) {
	o, log := logs(modern(), slog.LevelInfo)
	play := func(listed ...string) func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantList(t, c.Tools(ctx), toolName, nil, listed...)
		}
	}
	playAll(t, []conversation{
		{name: "invalid_tools_modern", way: "json", opts: o, play: play("good", "plain")},
		{name: "invalid_tools_modern", way: "pipe", opts: o, play: play("good", "bad", "plain")},
	})
	for _, text := range []string{"left a tool out", "tool=bad", "is not a header name"} {
		check.Equal(t, text+" in the log", strings.Count(log.String(), text), 1)
	}
}

// In the legacy era x-mcp-header has no effect: no header repeats an argument, and no tool is left out. In the modern
// era a single page leaves out invalid tools as the list does, and both teach the headers of tools.
func TestListsTeachHeaders(t *testing.T) {
	const tools = `[{"name":"t","inputSchema":{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}},{"name":"bad","inputSchema":{"x-mcp-header":""}}]`
	for name, test := range map[string]struct {
		opts   mcpclient.Options
		list   func(ctx context.Context, c *mcpclient.Client) ([]string, error)
		listed []string
		header string
	}{
		"legacy": {legacy(), listTools, []string{"t", "bad"}, ""},
		"modern": {modern(), listTools, []string{"t"}, "v"},
		"page": {modern(), func(ctx context.Context, c *mcpclient.Client) (names []string, _ error) {
			p, err := mcpclient.ListPage[mcp.Tool](ctx, c, nil)
			for _, tool := range p.Items {
				names = append(names, tool.Name)
			}
			return names, err
		}, []string{"t"}, "v"},
	} {
		overHTTP(t, test.opts, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "tools/list" {
				fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID, tools)
				return
			}
			check.Equal(t, name, r.Header.Get("Mcp-Param-S"), test.header)
			answerCall(w, r, m)
		}, func(t *testing.T, c *mcpclient.Client) {
			got, err := test.list(t.Context(), c)
			check.NoError(t, err, name)
			check.Same(t, name, got, test.listed)
			check.NoError(t, check.Err(c.CallTool(t.Context(), "t", map[string]string{"s": "v"})), name)
		})
	}
}

func listTools(ctx context.Context, c *mcpclient.Client) ([]string, error) {
	return collect(c.Tools(ctx), toolName)
}

// If the server finds the headers wrong, the tools are listed again and the call is sent once more.
func TestHeaderMismatch(t *testing.T) {
	playAll(t, []conversation{{name: "http_header_mismatch", way: overJSON, opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		args := map[string]string{"region": "eu"}
		check.NoError(t, check.Err(c.CallTool(ctx, "t", args)), "corrected")
		for i, want := range []string{"-32020", "server does not list the tool", "not a header name"} {
			_, err := c.CallTool(ctx, "t", args)
			e := wantError[*mcp.RPCError](t, err)
			check.That(t, e.Code == mcp.CodeHeaderMismatch && strings.Contains(err.Error(), want), "call %d: got %v, want %q", i, err, want)
		}
		wantError[*mcp.RPCError](t, check.Err(c.GetPrompt(ctx, "p", nil)))
	}}})
}

// At most 1,024 tools are remembered; forgotten ones are listed again.
func TestParamHeadersForgotten(t *testing.T) {
	const schema = `{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}`
	missing, lists := 0, 0
	overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "tools/list":
			lists++
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t0","inputSchema":{}},{"name":%q,"inputSchema":%s}]}}`, m.ID, "t1", schema)
		case r.Header.Get("Mcp-Param-S") == "":
			missing++
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"S is missing"}}`, m.ID)
		default:
			answerCall(w, r, m)
		}
	}, func(t *testing.T, c *mcpclient.Client) {
		const all = 3000
		var tools []*mcp.Tool
		for i := range all {
			tools = append(tools, tool(fmt.Sprint("t", i), schema))
		}
		check.Must(t, c.AddToolDefinitions(tools...))
		for i := range all {
			_, _ = c.CallTool(t.Context(), fmt.Sprint("t", i), map[string]string{"s": "v"})
		}
		known := all - missing
		check.That(t, known <= 1024 && known >= 1000, "got %d tools remembered, want 1,024 at most", known)
		check.NoError(t, check.Err(c.CallTool(t.Context(), "t1", map[string]string{"s": "v"})))
		check.That(t, lists != 0, "got no lists")
	})
}

// Each parameter header has its own argument, at any depth.
func TestParamHeadersOfDeepSiblings(t *testing.T) {
	const leaves = `"d":{"type":"string","x-mcp-header":"D"},"e":{"type":"string","x-mcp-header":"E"},"f":{"type":"string","x-mcp-header":"F"}`
	for depth := range 9 {
		schema, args := `{"properties":{`+leaves+`}}`, `{"d":"1","e":"2","f":"3"}`
		for range depth {
			schema, args = `{"properties":{"a":`+schema+`}}`, `{"a":`+args+`}`
		}
		var got string
		overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
			got = r.Header.Get("Mcp-Param-D") + r.Header.Get("Mcp-Param-E") + r.Header.Get("Mcp-Param-F")
			answerCall(w, r, m)
		}, func(t *testing.T, c *mcpclient.Client) {
			check.Must(t, c.AddToolDefinitions(tool("t", schema)))
			check.Must(t, check.Err(c.CallTool(t.Context(), "t", json.RawMessage(args))))
		})
		check.That(t, got == "123", "at depth %d: got %q, want 123", depth, got)
	}
}
