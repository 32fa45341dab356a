package mcpchain_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/mcpclient/otelmcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// TestDocs checks that each block of Go in the guides is, line by line, in a function below,
// which is compiled, or in an example of package agent, which runs.
func TestDocs(t *testing.T) {
	program := lines(read(t, "docs_test.go")) + lines(read(t, "docs_cookbook_test.go"))
	for _, example := range append(glob(t, "agent/example*_test.go"), "agent/agenttest/example_test.go", "agent/lc/example_model_test.go") {
		program += lines(read(t, example))
	}
	for _, guide := range glob(t, "docs/*.md") {
		for _, block := range blocks(read(t, guide), "go") {
			check.That(t, strings.Contains(program, lines(block)), "%s: neither docs_test.go nor an example of agent has this block:\n%s", guide, block)
		}
	}
}

// TestConfigurations loads every mcp.json in the guides.
func TestConfigurations(t *testing.T) {
	shown := 0
	for _, guide := range documents(t) {
		for _, block := range blocks(read(t, guide), "json") {
			shown++
			for _, s := range check.Value(config.ParsePreview(guide, []byte(block)))(t) {
				check.NoError(t, s.Err)
			}
		}
	}
	check.That(t, shown != 0, "no configuration is shown")
}

// TestPrograms checks that the program of every command in the guides exists. Tests of the programs check the flags.
func TestPrograms(t *testing.T) {
	for _, guide := range documents(t) {
		for _, run := range regexp.MustCompile(`go run (\./[\w/]+)`).FindAllStringSubmatch(read(t, guide), -1) {
			check.NoError(t, check.Err(os.Stat(filepath.Join(run[1], "main.go"))), guide)
		}
	}
}

// TestComparedVersions checks that docs/comparison.md names the versions of libraries that are
// tested and measured here.
func TestComparedVersions(t *testing.T) {
	required := read(t, "go.mod") + read(t, "evals/loop/go.mod")
	compared := regexp.MustCompile(`\]\(https://(github\.com/[\w-]+/[\w-]+)\) (\d[\d.]+)`).FindAllStringSubmatch(read(t, "docs/comparison.md"), -1)
	checked := 0
	for _, c := range compared {
		module := c[1]
		m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(required)
		if m == nil {
			continue // not used here
		}
		checked++
		check.That(t, m[1] == c[2], "docs/comparison.md has %s %s, and go.mod %s", module, c[2], m[1])
	}
	check.Equal(t, "versions, those of go-sdk, mcp-go and eino", checked, 3)
}

// TestLessons checks that each lesson is short (without its tests), has a test, and is linked from the guides.
func TestLessons(t *testing.T) {
	const most = 299 // lines
	guides := read(t, "docs/README.md")
	for _, lesson := range glob(t, "examples/*") {
		if filepath.Base(lesson) == "internal" {
			continue
		}
		lines, tested := 0, false
		for _, file := range glob(t, lesson+"/*") {
			if strings.HasSuffix(file, "_test.go") {
				tested = true
			} else {
				lines += strings.Count(read(t, file), "\n")
			}
		}
		check.That(t, lines <= most && tested && strings.Contains(guides, filepath.ToSlash(lesson)),
			"%s: got %d lines, tested %t; want at most %d lines, a test, and a row in docs/README.md", lesson, lines, tested, most)
	}
}

func documents(t *testing.T) []string {
	return append(glob(t, "docs/*.md"), "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}

// glob returns the files of a pattern: some.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	check.Require(t, err == nil && len(files) != 0, "%s: got %v, %v", pattern, files, err)
	return files
}

// blocks returns the code blocks of a language in a document.
func blocks(document, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(document, -1) {
		out = append(out, m[1])
	}
	return out
}

// lines removes indentation, repeated spaces and empty lines.
func lines(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return b.String()
}

// docs/adapter.md
var _ = func(ctx context.Context) error {
	ts, err := adapter.Open(ctx, []adapter.Server{
		{Name: "files", Transport: &mcpclient.Command{Path: "files-server"}},
		{Name: "web", Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
	}, &adapter.Options{Policy: adapter.Policy{Start: adapter.StartAvailable}})
	if err != nil {
		return err
	}
	defer ts.Close()
	catalog := ts.Catalog(profile.OpenAIStrict)
	tools, changes := catalog.Definitions(), catalog.Changes()
	_, _ = tools, changes
	return nil
}

// docs/adapter.md, a catalog and its calls
var _ = func(ctx context.Context, ts *adapter.Toolset, model llms.Model, messages []llms.MessageContent) error {
	catalog := ts.Catalog(profile.Plain)
	resp, err := model.GenerateContent(ctx, messages, llms.WithTools(catalog.Definitions()))
	if err != nil {
		return err
	}
	answers, err := catalog.Dispatch(ctx, resp.Choices[0].ToolCalls)
	_, _ = answers, err
	call, err := catalog.Prepare(resp.Choices[0].ToolCalls[0])
	if err != nil {
		return err // an unknown tool, arguments that do not fit, or a tool that has changed
	}
	fmt.Println("may", call.Tool().Server(), "run", call.Tool().Name(), "with", string(call.Arguments()))
	result := call.Run(ctx)
	_ = result
	return nil
}

// docs/adapter.md, a function
var _ = func(forecast func(ctx context.Context, city string, days int) (string, error)) adapter.Source {
	type query struct {
		City string `json:"city" jsonschema:"Its name in English"`
		Days int    `json:"days,omitempty" minimum:"1"`
	}
	weather := adapter.Func("weather", "Forecasts the weather.", func(ctx context.Context, q query) (string, error) {
		return forecast(ctx, q.City, q.Days)
	}, &adapter.FuncOptions{ReadOnly: true})
	return weather
}

// docs/adapter.md, approval
var _ = func(ctx context.Context, files, web mcpclient.Transport, ask func(context.Context, string, json.RawMessage) (approval.Decision, error)) error {
	ts, err := adapter.Open(ctx, []adapter.Server{
		{Name: "files", Transport: files, Policy: adapter.Policy{Trust: adapter.TrustHints}},
		{Name: "web", Transport: web},
	}, &adapter.Options{Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
		return ask(ctx, a.Name, a.Arguments)
	}})
	if err != nil {
		return err
	}
	defer ts.Close()
	return nil
}

// docs/adapter.md, around every call
var _ = func(url string, tokenFrom func(context.Context) string) error {
	web := &mcpclient.HTTP{URL: url, Client: &http.Client{Transport: adapter.ContextHeaders(nil, func(ctx context.Context) http.Header {
		return http.Header{"Authorization": {"Bearer " + tokenFrom(ctx)}}
	})}}
	_ = web
	return nil
}

// docs/sampling.md
var _ = func(ctx context.Context, transport mcpclient.Transport) error {
	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	sampler, err := sampling.New(host, "gpt-6-luna", &sampling.Options{Logger: slog.Default()})
	if err != nil {
		return err
	}
	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler})
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

// docs/sampling.md, who asks
var _ = func(ctx context.Context, transport mcpclient.Transport, sampler *sampling.Sampler) error {
	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler.ForServer("github")})
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

// docs/sampling.md, servers of an adapter
var _ = func() error {
	opts := &sampling.Options{Origin: adapter.OriginFrom}
	_ = opts
	return nil
}

// docs/sampling.md, review and policy
var _ = func() error {
	opts := &sampling.Options{
		Policy: sampling.Policy{OutsideCalls: sampling.ModeDeny}, // out of the blue: never
		Servers: map[string]sampling.Policy{
			"notes": {DuringCalls: sampling.ModeAllow, OutsideCalls: sampling.ModeDeny},
		},
	}
	_ = opts
	return nil
}

// docs/sampling.md, choosing a model
var _ = sampling.Options{
	Models: []sampling.Model{
		{ID: "gpt-6-luna", StandsFor: []string{"haiku", "flash"}, Tools: true, Images: true, Context: 400_000,
			Speed: 120, Intelligence: 5},
		{ID: "gpt-6-sol", StandsFor: []string{"sonnet"}, Tools: true, Images: true, Context: 400_000,
			Speed: 60, Intelligence: 9},
	},
	Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "gpt-6-luna*", Currency: "USD", Input: 250_000, Cached: 25_000, Output: 2_000_000},
		{Model: "gpt-6-sol", Currency: "USD", Input: 1_250_000, Cached: 125_000, Output: 10_000_000},
	}},
}

// docs/authorization.md
var _ = func(ctx context.Context, dir string, showAndOpen func(context.Context, string) error) error {
	store, err := oauth.NewFileStore(dir)
	if err != nil {
		return err
	}
	auth, err := oauth.New("https://mcp.example.com/mcp", &oauth.Options{
		Grant: &oauth.AuthorizationCode{
			Receiver:   oauth.Loopback(showAndOpen, 0),
			RegisterAs: "My agent",
		},
		Store: store,
	})
	if err != nil {
		return err
	}
	defer auth.Close()
	if err := auth.SignIn(ctx); err != nil { // waits for the person, where one is needed
		return err
	}
	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{URL: "https://mcp.example.com/mcp", Client: auth.Client()}, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

// docs/observability.md
var _ mcpclient.Middleware = audited

func audited(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
		result, err := next(ctx, r)
		log.Printf("%s %s: %v", r.Method, r.Name, err)
		return result, err
	}
}

// docs/observability.md, OpenTelemetry
var _ = func(ctx context.Context, transport mcpclient.Transport) error {
	sent, served, err := otelmcp.New(nil) // the global providers and propagator
	if err != nil {
		return err
	}
	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
		Middleware:       []mcpclient.Middleware{sent},
		ServerMiddleware: []mcpclient.Middleware{served},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

// docs/observability.md, Agents
var _ = func(model agent.Model, tools []adapter.Source) error {
	telemetry, err := otelagent.New(nil) // the global providers
	if err != nil {
		return err
	}
	a, err := agent.New(model, &agent.Options{Name: "support", Observer: telemetry, Tools: tools})
	if err != nil {
		return err
	}
	fmt.Println(a.Name())
	return nil
}

// docs/durability.md
var _ = func(ctx context.Context) error {
	db, err := sql.Open("sqlite", "runs.db") // import _ "modernc.org/sqlite"
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlstore.OpenSQLite(ctx, db)
	_ = store
	return err
}

// docs/mcp-json.md
var _ = func(ctx context.Context, model agent.Model) *agent.Result {
	host := must(mcpchain.Open(ctx, "mcp.json", &mcpchain.Options{Terminal: &mcpchain.Terminal{}}))
	defer host.Close()
	a := must(host.Agent(model, &agent.Options{System: "Be brief."}))
	result := must(a.Run(ctx, agent.Text("Book a table for 4")))
	return result
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// TestReadme checks that the program in the README is the quickstart, and that its commands work in CI and in the tree.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	shown := blocks(readme, "go")
	check.Require(t, len(shown) == 1, "got %d Go programs in the README, want 1", len(shown))
	rest := read(t, "examples/quickstart/main.go")
	for line := range strings.Lines(shown[0]) {
		switch _, after, found := strings.Cut(rest, "\n"+line); {
		case strings.TrimSpace(line) == "":
		case found:
			rest = "\n" + after
		default:
			t.Errorf("the quickstart has no line %q after the ones before", line)
		}
	}
	check.That(t, strings.Contains(readme, "\ngo test work\n") && strings.Contains(read(t, ".ci/run"), "\ngo test work\n"), "the test command of the README is not the one that CI runs")
}

// TestLinks checks links of documents to files and headings of the repository.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		for _, link := range regexp.MustCompile(`\]\(([^):\s]+)\)`).FindAllStringSubmatch(read(t, document), -1) {
			file, heading, _ := strings.Cut(link[1], "#")
			target := document
			if file != "" {
				target = path.Join(path.Dir(document), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link: %v", document, err)
			} else if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s: %s has no heading %s", document, target, heading)
			}
		}
	}
}

// headings returns the anchors that GitHub makes for the headings of a document.
func headings(document string) (anchors []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(document, -1) {
		text := regexp.MustCompile(`[^\pL\pN -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(text, " ", "-"))
	}
	return anchors
}

func read(t *testing.T, name string) string {
	return string(check.Value(os.ReadFile(name))(t))
}

// viewOfTool is the program in docs/apps.md. It is only compiled.
func viewOfTool(ctx context.Context, servers []adapter.Server, result *adapter.Result, arguments json.RawMessage, conn transport.Conn, user, serverURL string, approve approval.Func, openLink func(context.Context, string) error) error {
	opts, declareErr := apps.Declare(&mcpclient.Options{}) // servers learn that views are shown
	ts, openErr := adapter.Open(ctx, servers, &adapter.Options{ClientOptions: opts, Approve: approve})

	tool := result.Tool // of an adapter.Result
	view, loadErr := apps.Load(ctx, tool.Client(), tool.ViewURI())

	box, boxErr := sandbox.New(&sandbox.Options{Origin: "http://*.localhost:8081", HostOrigins: []string{"http://localhost:8080"}})
	frame, frameErr := box.Frame(view.Meta, sandbox.FrameOptions{User: user, Server: serverURL}) // URL and attributes of the iframe

	s, err := host.Open(ctx, conn, ts.ViewAccess(tool.Server(), view.URI), &host.Options{
		CSP: frame.CSP, Permissions: frame.Permissions,
		OpenLink: openLink,
	})
	inputErr := s.ToolInput(arguments)
	resultErr := s.ToolResult(result.Raw)
	return errors.Join(declareErr, openErr, loadErr, boxErr, frameErr, err, inputErr, resultErr)
}

var _ = viewOfTool
