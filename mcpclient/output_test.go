package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func forecast(schema string) *mcpclient.Tool {
	return &mcpclient.Tool{Name: "forecast", OutputSchema: json.RawMessage(schema)}
}

const degrees = `{"type":"object","properties":{"degrees":{"type":"number"}},"required":["degrees"]}`

func TestOutputCheck(t *testing.T) {
	playAll(t, bothEras(conversation{name: "output", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check := mcpclient.WithOutputCheck(forecast(degrees))
		if _, err := c.CallTool(ctx, "forecast", nil, check); err != nil {
			t.Errorf("fits: %v", err)
		}
		res, err := c.CallTool(ctx, "forecast", nil, check)
		e := wantError[*mcpclient.OutputError](t, err)
		bad := wantError[*mcpclient.SchemaViolation](t, err)
		if res != nil || e.Result.Text() != "t" || !errors.Is(err, mcpclient.ErrInvalidResult) || bad.Path != "/degrees" || bad.Keyword != "type" {
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
		// What cannot be checked is not sent.
		if _, err := c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(forecast(`{"$schema":"urn:own"}`))); err == nil || !strings.Contains(err.Error(), "unsupported dialect") {
			t.Errorf("unknown dialect: got %v", err)
		}
		if _, err := c.CallTool(ctx, "forecast", nil, mcpclient.WithOutputCheck(&mcpclient.Tool{})); err != nil {
			t.Errorf("no schema: %v", err)
		}
	}}))
}

func TestCheckOutput(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		deep := strings.Repeat(`{"not":`, 100) + "true" + strings.Repeat("}", 100)
		for _, tt := range []struct{ schema, content, want string }{
			{``, ``, ""},
			{`true`, `null`, ""},
			{`{"type":"null"}`, `null`, ""},
			{`{"type":"null"}`, ``, `output of tool "forecast": no structured content, which the tool's output schema promises`},
			{degrees, `{}`, "degrees"},
			{`{"$ref":"#/$defs/d","$defs":{"d":{"type":"string"}}}`, `7`, "string"},
			{`{"$ref":"https://example.com/schema.json"}`, `{}`, "others are never fetched"},
			{`{"$id":"https://example.com/a","$ref":"b.json"}`, `{}`, "others are never fetched"},
			{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[7]`, "string"},
			{`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}`, `[7]`, "string"},
			{`{"$schema":"https://example.com/own"}`, `{}`, "unsupported dialect"},
			{deep, `{}`, "output schema of tool"},
			{`{"title":"` + strings.Repeat("x", 1<<20) + `"}`, `{}`, "want at most 1048576"},
			{`7`, `{}`, "output schema of tool"},
		} {
			err := c.CheckOutput(forecast(tt.schema), &mcpclient.CallToolResult{StructuredContent: json.RawMessage(tt.content)})
			if tt.content == "" {
				err = c.CheckOutput(forecast(tt.schema), &mcpclient.CallToolResult{})
			}
			if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("%.60s of %s: got %.200s, want %q", tt.content, tt.schema[:min(60, len(tt.schema))], got, tt.want)
			}
		}
	})
}

// strict is a validator that lets nothing pass.
type strict struct{ compiled []string }

func (s *strict) Compile(schema json.RawMessage) (func(json.RawMessage) error, error) {
	s.compiled = append(s.compiled, string(schema))
	return func(json.RawMessage) error { return &mcpclient.SchemaViolation{Path: "/x", Message: "never"} }, nil
}

// Another validator gets the schema byte for byte.
func TestValidatorReplaced(t *testing.T) {
	own := new(strict)
	opts := modern()
	opts.Validator = own
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		schema := `{ "own" : 1.0 }`
		err := c.CheckOutput(forecast(schema), &mcpclient.CallToolResult{StructuredContent: json.RawMessage("1")})
		if want := `output of tool "forecast": at "/x": never`; fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if diff := cmp.Diff([]string{schema}, own.compiled); diff != "" {
			t.Errorf("schemas: got +, want -:\n%s", diff)
		}
	})
}
