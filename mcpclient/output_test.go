package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/schemacheck"
)

func forecast(schema string) *mcp.Tool {
	return &mcp.Tool{Name: "forecast", OutputSchema: json.RawMessage(schema)}
}

const degrees = `{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"]}`

func TestOutputCheck(t *testing.T) {
	playAll(t, bothEras(conversation{name: "output", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check := mcpclient.WithOutputCheck(forecast(degrees), new(schemacheck.Validator))
		if _, err := c.CallTool(ctx, "forecast", nil, check); err != nil {
			t.Errorf("fits: %v", err)
		}
		res, err := c.CallTool(ctx, "forecast", nil, check)
		e := wantError[*mcpclient.OutputError](t, err)
		bad := wantError[*mcpclient.SchemaViolation](t, err)
		if res != nil || e.Result.Text() != "t" || !errors.Is(err, mcp.ErrInvalidResult) || bad.Path != "/degrees" || bad.Keyword != "type" {
			t.Errorf("does not fit: got %+v, %v with %+v", res, err, bad)
		}
		_, err = c.CallTool(ctx, "forecast", nil, check)
		wantError[*mcpclient.SchemaViolation](t, err)
		if res, err := c.CallTool(ctx, "forecast", nil, check); err != nil || !res.IsError {
			t.Errorf("failure of the tool: got %+v, %v", res, err)
		}
		_, err = c.CallTool(ctx, "forecast", nil, check)
		if bad := wantError[*mcpclient.SchemaViolation](t, err); bad.Path != "" || bad.Keyword != "type" {
			t.Errorf("null: got %+v", bad)
		}
		// A call that cannot be checked is not sent.
		wantText(t, errOf(c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(forecast(`{"$schema":"urn:own"}`), new(schemacheck.Validator)))), "unsupported dialect", "unknown dialect")
		if _, err := c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(&mcp.Tool{}, nil)); err != nil {
			t.Errorf("no schema: %v", err)
		}
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

// CheckOutputs checks the results of all known tools.
func TestCheckOutputs(t *testing.T) {
	for name, test := range map[string]struct {
		schema, result string
		fits           bool
	}{
		"fits":     {degrees, `{"content":[],"structuredContent":{"degrees":7}}`, true},
		"does not": {degrees, `{"content":[],"structuredContent":{"degrees":"7"}}`, false},
		"has none": {degrees, `{"content":[]}`, false},
		"failed":   {degrees, `{"content":[],"isError":true}`, true},
		"no use":   {`{"$schema":"urn:own"}`, `{"content":[],"structuredContent":{"degrees":"7"}}`, true},
		"no JSON":  {`null`, `{"content":[]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c := connected(t, weather(test.schema, test.result), mcpclient.Options{Schemas: mcpclient.Schemas{CheckOutputs: true, Validator: new(schemacheck.Validator)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			held := func(when string, tool string, fits bool) {
				t.Helper()
				res, err := c.CallTool(t.Context(), tool, nil)
				bad, ok := errors.AsType[*mcpclient.OutputError](err)
				wrong(t, fits != (err == nil) || !fits && (!ok || bad.Result == nil), "%s: got %+v, %v, want it to fit: %t", when, res, err, fits)
			}
			held("unknown", "forecast", true)
			must(t, errOf(collect(c.Tools(t.Context()), toolName)))
			held("listed", "forecast", test.fits)
			held("without a schema", "plain", true)
			must(t, c.RegisterTools(tool("forecast", `{}`)))
			held("registered without", "forecast", true)
			must(t, c.RegisterTools(&mcp.Tool{Name: "forecast", InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(test.schema)}))
			held("registered", "forecast", test.fits)
			unusable := strings.HasPrefix(name, "no ")
			wrong(t, unusable != strings.Contains(log.String(), "is not checked"), "got the log %q, want a warning: %t", &log, unusable)
		})
	}
}

// A tool with invalid headers is left out only where headers are used.
func TestCheckOutputsLeavesToolsIn(t *testing.T) {
	opts := modern()
	opts.Schemas = mcpclient.Schemas{CheckOutputs: true, Validator: new(schemacheck.Validator)}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"odd","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"no name"}}}}]}}`)
		names, err := collect(c.Tools(t.Context()), toolName)
		wrong(t, err != nil || len(names) != 1, "got the tools %q, %v, want the one that there is", names, err)
	})
}

// The client keeps copies of definitions, with a bound on their total size.
func TestCheckOutputsRemembers(t *testing.T) {
	validator := new(strict)
	c := connected(t, weather(`{}`, `{"content":[]}`), mcpclient.Options{Schemas: mcpclient.Schemas{CheckOutputs: true, Validator: validator}})
	held := func(tool string) bool {
		_, err := c.CallTool(t.Context(), tool, nil)
		_, held := errors.AsType[*mcpclient.OutputError](err)
		return held
	}
	register := func(name string, schema []byte) {
		t.Helper()
		must(t, c.RegisterTools(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{}`), OutputSchema: schema}))
	}
	own := []byte(`{}`)
	register("own", own)
	own[0] = 'x'
	wrong(t, !held("own") || validator.compiled[0] != `{}`, "got the schema %q, want the one that was registered", validator.compiled)
	large := fmt.Appendf(nil, `{"description":"%s"}`, strings.Repeat("a", 4<<20))
	known := 0
	for i := range 10 {
		register(fmt.Sprint(i), large)
		register(fmt.Sprint(i), large) // counts once
	}
	for i := range 10 {
		if held(fmt.Sprint(i)) {
			known++
		}
	}
	wrong(t, known != 7 || !held("9"), "got %d schemas of 4 MiB remembered, the last one: %v, want 7 and the last", known, held("9"))
}

// By default results are not checked.
func TestOutputsAreNotChecked(t *testing.T) {
	c := connected(t, weather(degrees, `{"content":[]}`), mcpclient.Options{})
	must(t, errOf(collect(c.Tools(t.Context()), toolName)))
	noError(t, errOf(c.CallTool(t.Context(), "forecast", nil)))
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
	c := connected(t, weather(degrees, `{"content":[],"structuredContent":1}`), mcpclient.Options{Schemas: mcpclient.Schemas{Validator: first}})
	for _, v := range []mcpclient.Validator{nil, second} {
		_, err := c.CallTool(t.Context(), "forecast", nil, mcpclient.WithOutputCheck(forecast(schema), v))
		want := `call tool "forecast": output of tool "forecast": at "/x": never`
		wrong(t, fmt.Sprint(err) != want, "got %v, want %s", err, want)
	}
	for _, v := range []*strict{first, second} {
		same(t, "schemas", v.compiled, []string{schema})
	}
}

// The error for a missing validator names the package that has one.
func TestNoValidator(t *testing.T) {
	const want = "package mcpclient/schemacheck"
	wantText(t, errOf(mcpclient.Connect(t.Context(), weather(degrees, `{}`), &mcpclient.Options{Schemas: mcpclient.Schemas{CheckOutputs: true}})), want, "Connect")
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		wantText(t, errOf(c.CallTool(t.Context(), "forecast", nil, mcpclient.WithOutputCheck(forecast(degrees), nil))), want, "CallTool")
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
		code      int // of the answer; 0 for a result
	}{
		"none":             {nil, mcp.ElicitAccept, true, 0},
		"content":          {moody{}, mcp.ElicitAccept, true, 0},
		"strict":           {new(strict), mcp.ElicitAccept, true, mcp.CodeInternalError},
		"strict, declined": {new(strict), mcp.ElicitDecline, true, 0},
		"no compiler":      {moody{compile: errors.New("no")}, mcp.ElicitAccept, false, mcp.CodeInvalidParams},
	} {
		opts := legacy()
		opts.Schemas.Validator = test.validator
		asked := false
		opts.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = true
			return &mcp.ElicitResult{Action: test.action, Content: map[string]any{"n": "Ada"}}, nil
		})
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			p.send(form)
			m := p.next()
			code := 0
			if m.Error != nil {
				code = m.Error.Code
			}
			if asked != test.asked || code != test.code {
				t.Errorf("%s: got asked %t and code %d, want %t and %d", name, asked, code, test.asked, test.code)
			}
			equal(t, name, c.Validator(), test.validator)
		})
	}
}
