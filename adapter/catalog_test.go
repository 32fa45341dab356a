package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A catalog never changes. If its tools change, the toolset has a new one.
func TestCatalogNeverChanges(t *testing.T) {
	ts := newPeer().tool("read", object, answer("p")).open(t, nil)
	catalog, definitions := ts.Catalog(profile.Plain), ts.Catalog(profile.Plain).Definitions()
	check.Must(t, ts.Refresh(t.Context()))
	check.That(t, ts.Catalog(profile.Plain) == catalog, "got another catalog, although no tool has changed")
	check.That(t, ts.Catalog(profile.OpenAI) != catalog, "got the same catalog for another profile")
	q := newPeer().tool("read", object, answer("q")).tool("late", object, answer("q"))
	check.Must(t, ts.Add(t.Context(), Server{Name: "q", Transport: q.transport(t)}))
	check.Same(t, "tools", namesOf(catalog.Tools()), []string{"read"})
	check.Same(t, "definitions", catalog.Definitions(), definitions)
	check.Same(t, "in another one", toolNamesOf(ts), []string{"p__read", "late", "q__read"})
	check.Equal(t, "the tool by its name of then", catalog.Call(t.Context(), call("1", "READ ", "")).Text, "p")
	var unknown *unknownToolError
	for _, name := range []string{"late", "q__read", "p__read"} {
		r := catalog.Call(t.Context(), call("1", name, ""))
		want := `Error: there is no tool named "` + name + `". The tools are: read`
		check.That(t, errors.As(r.Err, &unknown) && r.Text == want, "got %q, want %q: it was not offered", r.Text, want)
	}
}

// References can multiply the schemas of a server. A bound holds for all its tools together, and does not affect other servers.
func TestCatalogsAreBounded(t *testing.T) {
	const bound = 8 << 20
	var fields []string
	for i := range 400 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#/$defs/long"}`, i))
	}
	large := `{"type":"object","properties":{` + strings.Join(fields, ",") + `},"$defs":{"long":{"type":"string","description":"` + strings.Repeat("x", 4000) + `"}}}`
	p := newPeer()
	for i := range 40 {
		p.tool(fmt.Sprintf("large%d", i), large, echo)
	}
	ts := open(t, nil,
		Server{Name: "large", Transport: p.transport(t)},
		Server{Name: "small", Transport: newPeer().tool("small", `{"type":"object","properties":{"a":{"type":"integer"}}}`, echo).transport(t)})
	for _, target := range []profile.Profile{profile.Gemini, profile.GoogleAI} {
		catalog, size := ts.Catalog(target), 0
		for _, d := range catalog.Definitions() {
			raw := check.Value(json.Marshal(d.Function.Parameters))(t)
			size += len(raw)
			check.That(t, d.Function.Name != "small" || string(raw) == `{"properties":{"a":{"type":"integer"}},"type":"object"}`, "%s: got %s of another server", target, raw)
		}
		check.That(t, size >= bound/2 && size <= bound+bound/4, "%s: got %d bytes of all schemas, want about %d at most", target, size, bound)
		check.That(t, slices.ContainsFunc(catalog.Changes(), func(c profile.Change) bool {
			return c.Tool == "large9" && c.Path == "" && c.Effect == "wider" && strings.Contains(c.Note, "too large together")
		}), "%s: got no change that tells of it", target)
	}
}

// TestSearch checks that a search uses all texts of tools, and finds no tool that models must not call.
func TestSearch(t *testing.T) {
	p := newPeer().visible("app_pages", echo, []string{"app"})
	for _, tool := range []sdk.Tool{
		{Name: "send_email", Title: "Mail a letter"},
		{Name: "lookup", Description: "Finds pages of the web."},
		{Name: "delete_pages", Description: "Deletes pages."},
		{Name: "pay", InputSchema: json.RawMessage(`{"type":"object","properties":{"iban":{"type":"string","description":"The account of the payee."}}}`)},
		{Name: "wipe", Meta: sdk.Meta{"io.modelcontextprotocol/groups": []any{"dangerous", map[string]any{"name": "housekeeping"}}}},
	} {
		if tool.InputSchema == nil {
			tool.InputSchema = json.RawMessage(object)
		}
		p.AddTool(&tool, echo)
	}
	rename := func(def *mcp.Tool) string { return map[string]string{"pay": "transfer"}[def.Name] }
	ts := open(t, nil, Server{Name: "office", Transport: p.transport(t), Deny: []string{"delete_*"}, Rename: rename})
	for query, want := range map[string][]string{
		"transfer": {"transfer"}, "letter": {"send_email"}, "emails": {"send_email"}, "search the web for pages": {"lookup"}, "account": {"transfer"}, "IBAN": {"transfer"},
		"housekeping": {"wipe"}, "a dangerous thing": {"wipe"}, "office": {"lookup", "transfer", "wipe", "send_email"}, "nothing": {},
	} {
		check.Same(t, query, namesOf(ts.Catalog(profile.Plain).Search(query, 10)), want)
	}
	got := new(Catalog).Search("x", 3)
	check.That(t, len(got) == 0, "got %v in an empty catalog", got)
}

// TestSearchOfWhatFunctionsServe finds a function once by its Serves, and the entries that match.
func TestSearchOfWhatFunctionsServe(t *testing.T) {
	f := func(context.Context, struct{}) (string, error) { return "", nil }
	serves := map[string]string{"expenses": "Fills in a report of expenses.", "travel": "Books a journey, and reports it."}
	for i := range 200 {
		serves[fmt.Sprint("other", i)] = "Does something else."
	}
	c := Merge(Func("lookup", "Finds pages.", f, nil), Func("load_skill", "Reads a skill.", f, &FuncOptions{Topics: serves})).Catalog(profile.Plain)
	for query, want := range map[string][]string{
		"report expenses": {"load_skill", "expenses", "travel"}, "journeys": {"load_skill", "travel"}, "read": {"load_skill"}, "page": {"lookup"},
	} {
		var got []string
		for _, tool := range c.Search(query, 5) {
			got = append(got, tool.Name())
			for name := range tool.SearchTopics(query, 5) {
				got = append(got, name)
			}
		}
		check.Same(t, fmt.Sprintf("%q", query), got, want)
	}
}

// recorder records the body of a request and fails.
type recorder struct{ body []byte }

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	var err error
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return nil, errors.New("no answer")
}

// langchaingo's providers send the schema unchanged.
func TestProvidersSendTheSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":{"maximum":9007199254740993}},"required":["z"],"$defs":{"n":{"type":"integer"}}}`
	ts := newPeer().tool("x", schema, echo).open(t, nil)
	want := check.Value(json.Marshal(json.RawMessage(ts.Servers()[0].Tools[0].Definition().InputSchema)))(t)
	var sent recorder
	oai := check.Value(openai.New(openai.WithToken("none"), openai.WithHTTPClient(&sent)))(t)
	claude := check.Value(anthropic.New(anthropic.WithToken("none"), anthropic.WithHTTPClient(&sent)))(t)
	for name, model := range map[string]llms.Model{"openai": oai, "anthropic": claude} {
		sent.body = nil
		messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hello")}
		_, err := model.GenerateContent(t.Context(), messages, llms.WithTools(ts.Catalog(profile.Plain).Definitions()), llms.WithModel("m"))
		check.Require(t, err != nil, "%s: got an answer from nobody", name)
		check.That(t, bytes.Contains(sent.body, want), "%s: got the request %s\nwant it with %s", name, sent.body, want)
	}
}

const benchSchema = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object",` +
	`"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}},` +
	`"dryRun":{"type":"boolean"}},"required":["path","edits"],"additionalProperties":false}`

const benchArguments = `{"path":"/a","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}],"dryRun":true}`

// answering is a server whose answers cost next to nothing, so that benchmarks measure the client.
// It lists its tools in pages of 25 and counts the requests of each method.
func answering(t testing.TB, tools int, counts map[string]*atomic.Int64) mcpclient.Transport {
	var pages []string
	for from := 0; from < tools; from += 25 {
		list := ""
		for i := from; i < min(from+25, tools); i++ {
			list += fmt.Sprintf(`,{"name":"t%d","description":"Does it.","inputSchema":%s}`, i, benchSchema)
		}
		pages = append(pages, list[1:])
	}
	page := 0
	transport, _ := scriptedBy(t, func(method string) string {
		if n := counts[method]; n != nil {
			n.Add(1)
		}
		switch method {
		case "tools/list":
			list := `{"tools":[` + pages[page] + `]`
			if page = (page + 1) % len(pages); page > 0 {
				list += fmt.Sprintf(`,"nextCursor":"%d"`, page)
			}
			return list + "}"
		case "tools/call":
			return `{"content":[{"type":"text","text":"ok"}]}`
		}
		return ""
	})
	return transport
}

// A large toolset opens with one round trip for each page and server, and writes its definitions once. Calls list nothing again.
func TestLargeToolset(t *testing.T) {
	counts := map[string]*atomic.Int64{"tools/list": {}, "initialize": {}, "tools/call": {}}
	var servers []Server
	for i := range 20 {
		servers = append(servers, Server{Name: fmt.Sprint(i), Transport: answering(t, 50, counts)})
	}
	ts := open(t, &Options{ClientOptions: &legacy}, servers...)
	check.Equal(t, "definitions", len(ts.Catalog(profile.Plain).Definitions()), 1000)
	for _, p := range profile.All() {
		first := ts.Catalog(p).Definitions()
		second := ts.Catalog(p).Definitions()
		for i := range first {
			check.Require(t, parameters(first[i]) == parameters(second[i]), "%s: got the parameters of %s written twice", p, first[i].Function.Name)
		}
		check.Equal(t, p, ts.Catalog(p).Call(t.Context(), call("1", "_3__t7", benchArguments)).Text, "ok")
	}
	for method, want := range map[string]int64{"initialize": 20, "tools/list": 40, "tools/call": int64(len(profile.All()))} {
		got := counts[method].Load()
		check.That(t, got == want, "%s: got %d requests, want %d", method, got, want)
	}
}

// parameters returns the address of a definition's parameters.
func parameters(tool llms.Tool) uintptr { return reflect.ValueOf(tool.Function.Parameters).Pointer() }

// BenchmarkFunc measures one call of a function, from the model's text to the text for the model.
func BenchmarkFunc(b *testing.B) {
	b.ReportAllocs()
	f := Func("echo", "Says ok.", func(_ context.Context, in struct {
		X int `json:"x"`
	}) (string, error) {
		return "ok", nil
	}, nil)
	source := Merge(f, Func("other", "Says ok.", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil))
	for b.Loop() {
		p, err := source.Catalog(profile.Plain).Prepare(call("1", "echo", `{"x":1}`))
		check.Must(b, err)
		if r := p.WithIdempotencyKey("K").Run(b.Context()); r.Text != "ok" {
			b.Fatal(r.Text)
		}
	}
}
