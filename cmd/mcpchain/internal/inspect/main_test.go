package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const roleVariable = "MCPCHAIN_INSPECT_ROLE"

// TestMain makes this program the inspector, or one of its servers.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "main":
		os.Exit(Main(os.Args[1:]))
	case "demo":
		if err := tryout.RunServer(context.Background()); err != nil {
			os.Exit(1)
		}
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "exit":
		fmt.Println("usage: server stdio")
		fmt.Fprintln(os.Stderr, "API_KEY is not set")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(3)
	case "chatty":
		fmt.Println("listening")
		fmt.Fprintln(os.Stderr, "waiting for the database")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "loud":
		for n := range 60 {
			fmt.Println("line", n)
		}
		if err := tryout.RunServer(context.Background()); err != nil {
			os.Exit(1)
		}
	case "banner":
		fmt.Println("welcome to the demo")
		if err := tryout.RunServer(context.Background()); err != nil {
			os.Exit(1)
		}
	case "stubborn":
		_ = os.WriteFile(os.Args[1], []byte(strconv.Itoa(os.Getpid())), 0o600)
		<-time.After(time.Hour) // not even the end of its input ends it
	case "wedge":
		if err := wedge().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	case "breaches":
		breaches(os.Stdin, os.Stdout)
	case "tasks":
		tasks(os.Stdin, os.Stdout)
	case "odd":
		if err := oddServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// hostile is a text that a terminal must not get.
const hostile = "two\nlines\x1b[2J\u009b31m\u202e"

// oddServer has an unusable tool, and a tool that providers need changed. It has no version, and sends hostile texts.
func oddServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "odd\x1b[31m\u200b"}, nil)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "odd://{name}", Name: "odd"}, nil)
	add := func(name, schema string) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does\n" + name, InputSchema: json.RawMessage(schema)}, nil)
	}
	s.AddTool(&sdk.Tool{Name: "shout", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: hostile}}}, nil
	})
	s.AddResource(&sdk.Resource{URI: "odd://text", Name: "text"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "odd://text", Text: hostile}, {URI: "odd://\x1b[2J", MIMEType: "x/\x1b[2J", Blob: []byte("abc")}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "say", Arguments: []*sdk.PromptArgument{{Name: "what", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: r.Params.Arguments["what"] + hostile}}}}, nil
	})
	add("foreign", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`)
	add("union.of two", `{"type":"object","properties":{"a":{"type":["string","null"],"description":"\u009b31m\u3164"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`)
	return s
}

// play is a server of revision 2025-11-25 over standard input and output. answer writes what follows a request.
func play(in io.Reader, out io.Writer, tool string, answer func(method string, id json.RawMessage)) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.ID == nil:
		case m.Method == "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"w","version":"1"}}}`+"\n", m.ID)
		case m.Method == "logging/setLevel":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		case m.Method == "server/discover":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", m.ID, tool)
		default:
			answer(m.Method, m.ID)
		}
	}
}

// breaches answers a request that it never got, and asks by a form with a wrong schema.
func breaches(in io.Reader, out io.Writer) {
	var call json.RawMessage
	play(in, out, `{"name":"any","inputSchema":{"type":"object"}}`, func(method string, id json.RawMessage) {
		if method == "tools/call" {
			call = id
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":{"slow":"\u001b[2J"}}}`)
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":99,"result":{}}`)
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"array"}}}`)
			return
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", call) // it got the refusal
	})
}

func tasks(in io.Reader, out io.Writer) {
	const state = `"taskId":"t","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000,"pollInterval":1`
	play(in, out, `{"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`, func(method string, id json.RawMessage) {
		result := `{"content":[{"type":"text","text":"found"}]}` // of tasks/result
		switch method {
		case "tools/call":
			result = `{"task":{` + state + `,"status":"working"}}`
		case "tasks/get":
			result = `{` + state + `,"status":"completed"}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	})
}

// wedge is a server that gives no answer, not even a list of its prompts, and one that insists on a form.
func wedge() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "wedge"}, nil)
	s.AddTool(&sdk.Tool{Name: "wedge", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddTool(&sdk.Tool{Name: "picky", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{
			"type": "object", "required": []string{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		text := "no answer"
		if err != nil && len(r.Params.Arguments) > 2 {
			return nil, err
		} else if err != nil {
			text = err.Error()
		} else if answer != nil {
			text = answer.Action
		}
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	s.AddResource(&sdk.Resource{URI: "wedge://x", Name: "x"}, func(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddPrompt(&sdk.Prompt{Name: "wedge"}, func(ctx context.Context, _ *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddPrompt(&sdk.Prompt{Name: "fine"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "fine"}}}}, nil
	})
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "prompts/list" {
				<-ctx.Done()
			}
			return next(ctx, method, r)
		}
	})
	return s
}

// inspectFile runs the program on an mcp.json. SELF in it means this program, and
// FILE in the flags is the place of the file, by default the last.
func inspectFile(t *testing.T, file string, flags ...string) (status int, stdout, stderr string) {
	t.Helper()
	self := check.Value(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	quoted, err := json.Marshal(self)
	check.Must(t, err)
	check.Must(t, os.WriteFile(path, []byte(strings.ReplaceAll(file, `"SELF"`, string(quoted))), 0o600))
	args := slices.Clone(flags)
	if at := slices.Index(args, "FILE"); at >= 0 {
		args[at] = path
	} else {
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), roleVariable+"=main", "XDG_CONFIG_HOME="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var failed *exec.ExitError
	err = cmd.Run()
	check.Require(t, err == nil || errors.As(err, &failed), "%v", err)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

const (
	demo = `"demo":{"command":"SELF","args":["secret"],"env":{"MCPCHAIN_INSPECT_ROLE":"demo"}}`
	odd  = `"odd":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"odd"}}`
	gone = `"gone":{"command":"/does/not/exist"}`
	typo = `"typo":{"comand":"x"}`
)

func servers(list ...string) string { return `{"mcpServers":{` + strings.Join(list, ",") + `}}` }

// golden compares an output with testdata/NAME.golden, and -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		check.Must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	check.Same(t, "", got, string(check.Value(os.ReadFile(path))(t)))
}

var update = flag.Bool("update", false, "write the golden files")

// places are the parts of an output that differ from machine to machine.
var places = regexp.MustCompile(`[^ \n]*[/\\](inspect\.test(\.exe)?|mcp\.json)\b`)

// The screens of the summary, of one server, and of what an agent sends.
func TestScreens(t *testing.T) {
	t.Parallel()
	file := servers(demo, odd, gone, typo, `"off":{"command":"x","disabled":true}`)
	for name, tt := range map[string]struct {
		flags  []string
		status int
	}{
		"summary":  {nil, statusMissing},
		"server":   {[]string{"FILE", "-server", "demo"}, statusFine},
		"odd":      {[]string{"-server", "odd"}, statusSkipped},
		"endpoint": {[]string{"-server", "odd", "-base-url", "https://api.openai.com/v1"}, statusSkipped},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, stderr := inspectFile(t, file, tt.flags...)
			check.Equal(t, "status", status, tt.status)
			golden(t, name, places.ReplaceAllString(out+stderr, "…/$1"))
			check.That(t, !strings.Contains(out, "secret") && !strings.ContainsAny(out, "\x1b\u009b\u200b\u3164") && !strings.Contains(out, " \n"),
				"got %q, want neither arguments, control characters nor blanks at the ends of lines", out)
		})
	}
}

// A server with a mistake is reported, and the others are inspected.
func TestWrongServer(t *testing.T) {
	t.Parallel()
	_, out, stderr := inspectFile(t, servers(typo, demo, `"line":{"command":"npx -y x"}`))
	for _, want := range []string{
		"1 of 3 servers can be used\n\ntypo:\n  cannot be used: ", `mcp.json:1: server "typo": comand: unknown key; did you mean "command"?`,
		"with 1 argument\n  can be used: demo 1.0.0, ",
		"line:\n  cannot be used: ", `mcp.json:1: server "line": command: there is no such program; arguments belong in "args"`,
	} {
		check.That(t, strings.Contains(out, want) && stderr == "", "got %s%s\nwant it with %q", stderr, out, want)
	}
	_, out, _ = inspectFile(t, servers(typo, demo), "-json")
	var r report
	err := json.Unmarshal([]byte(out), &r)
	check.Require(t, err == nil, "got %s: %v", out, err)
	check.That(t, len(r.Servers) == 2 && strings.Contains(r.Servers[0].Error, `:1: server "typo": comand: `) && len(r.Servers[1].Tools) != 0,
		"got %s\nwant the mistake in typo, and the tools of demo", out)
}

// TestMaxTokens fails if the tools cost more than there may be, and says how much they cost.
func TestMaxTokens(t *testing.T) {
	t.Parallel()
	if status, out, stderr := inspectFile(t, servers(demo), "-tool-budget", "1000"); status != statusFine || stderr != "" || !strings.Contains(out, "its tools cost about 273 tokens") {
		t.Errorf("got %d, %s and %s", status, out, stderr)
	}
	status, _, stderr := inspectFile(t, servers(demo), "-tool-budget", "100")
	want := "mcpchain: the tools cost about 273 tokens in each request, more than 100 (-tool-budget)\n"
	check.That(t, status == statusCostly && stderr == want, "got %d and %q, want %q", status, stderr, want)
	status, _, _ = inspectFile(t, servers(demo, gone), "-tool-budget", "100")
	check.That(t, status == statusMissing, "got %d, want that of a server that cannot be used", status)
}

func TestProfile(t *testing.T) {
	t.Parallel()
	status, out, _ := inspectFile(t, servers(odd), "-profile", "gemini")
	check.That(t, status == statusSkipped && !strings.Contains(out, "openai") && strings.Contains(out, `"nullable": true`) && strings.Contains(out, "      same: /properties/a type: null is written as nullable\n") && strings.Contains(out, `"\u009b31m\u3164"`),
		"got %d and %s\nwant what Gemini is sent, and all changes", status, out)
}

// The report for an endpoint has the schemas that an agent sends there.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	llama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server", "llama.cpp") }))
	defer llama.Close()
	ended, end := context.WithCancel(t.Context())
	end() // of the endpoints, only this machine's is asked
	for _, tt := range []struct {
		flags []string
		want  profile.Profile
	}{
		{[]string{"-base-url", "https://api.openai.com/v1"}, profile.OpenAI},
		{[]string{"-base-url", "https://generativelanguage.googleapis.com/v1beta/openai"}, profile.Gemini},
		{[]string{"-base-url", "https://openrouter.ai/api/v1", "-model", "anthropic/claude-x"}, profile.Anthropic},
		{[]string{"-base-url", "http://x/v1", "-host", "llamacpp"}, profile.LlamaCpp},
		{[]string{"-base-url", llama.URL}, profile.LlamaCpp},
	} {
		ctx := ended
		if slices.Contains(tt.flags, llama.URL) {
			ctx = t.Context()
		}
		o, err := parse(append(tt.flags, "mcp.json"), func(string) string { return "" }, io.Discard)
		check.Must(t, err)
		err = o.askModel(ctx)
		check.That(t, err == nil && slices.Equal(o.profiles, []profile.Profile{tt.want}) && o.detailed(),
			"%v: got %+v, %v, want the profile %s in detail", tt.flags, o, err, tt.want)
	}
}

// Every provider's definitions can be shown as text.
func TestAllProfiles(t *testing.T) {
	t.Parallel()
	_, out, _ := inspectFile(t, servers(odd), "-profile", "all")
	for _, p := range profile.All() {
		_, rest, ok := strings.Cut(out, "    "+string(p)+": ")
		section, _, _ := strings.Cut(rest, "\n      }")
		check.That(t, ok && strings.Contains(section, `"properties": {`), "%s: got %s\nwant what it is sent", p, out)
	}
}

// The reason against a server is shown whole, and cannot look like other lines.
func TestReason(t *testing.T) {
	t.Parallel()
	r := &report{Servers: []*serverReport{{Name: "a", Transport: "x", Error: "exit status 1:\nreached: \x1b[2J" + strings.Repeat("x", 1000) + "\nlast words"}}}
	var got strings.Builder
	check.Must(t, r.write(&got, false))
	want := "0 of 0 servers can be used\n\na: x\n  cannot be used: exit status 1:\n    reached: \\x1b[2J" + strings.Repeat("x", 1000) + "\n    last words\n"
	check.Equal(t, "", got.String(), want)
}

// The file or the command line forces a revision; the command line wins.
func TestRevision(t *testing.T) {
	t.Parallel()
	old := strings.Replace(demo, `"env"`, `"revision":"2025-06-18","env"`, 1)
	for _, tt := range []struct {
		server string
		flags  []string
		want   string
	}{
		{demo, nil, "2026-07-28\n"},
		{old, nil, "2025-06-18 (forced)\n"},
		{old, []string{"-revision", "demo=2025-11-25"}, "2025-11-25 (forced)\n"},
		{demo, []string{"-revision", "2025-11-25"}, "2025-11-25 (forced)\n"},
	} {
		_, out, _ := inspectFile(t, servers(tt.server), tt.flags...)
		check.That(t, strings.Contains(out, ", protocol revision "+tt.want), "%v: got %s\nwant the revision %s", tt.flags, out, tt.want)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, transport := range map[string]mcpclient.Transport{
		"command x with 2 arguments":   &mcpclient.Command{Path: "x", Args: []string{"secret", "b"}},
		"http https://example.com/mcp": &mcpclient.HTTP{URL: "https://me:secret@example.com/mcp?key=secret#x"},
		"sse http://example.com/sse":   &mcpclient.HTTP{URL: "http://me:secret@example.com/sse?key=secret", SSE: true},
		"":                             nil,
	} {
		check.Equal(t, "", describe(transport), want)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	status, out, _ := inspectFile(t, servers(demo, gone, odd), "-json", "-revision", "demo=2025-11-25")
	check.That(t, status == statusMissing && !strings.ContainsAny(out, "\u009b\u200b\u3164"),
		"got the status %d and %q, want %d and nothing that a terminal obeys or hides", status, out, statusMissing)
	var r struct {
		Usable, Total int
		Servers       []struct {
			Name, Revision, ForcedRevision, Error string
			ResourceTemplates                     []string
			Tools                                 []struct {
				Name, ServerName, Fingerprint string
				Profiles                      []struct {
					Profile    string
					Bytes      int
					Definition struct {
						Function struct{ Parameters map[string]any }
					}
				}
			}
		}
	}
	err := json.Unmarshal([]byte(out), &r)
	check.Require(t, err == nil, "got %s: %v", out, err)
	if r.Usable != 2 || r.Total != 3 || len(r.Servers) != 3 || r.Servers[0].Name != "demo" || r.Servers[0].Revision != "2025-11-25" || r.Servers[0].ForcedRevision != "2025-11-25" ||
		!slices.Equal(r.Servers[0].ResourceTemplates, []string{"demo://dish/{name}"}) || !strings.Contains(r.Servers[1].Error, `server "gone"`) {
		t.Fatalf("got %s\nwant demo reached and gone not", out)
	}
	for _, tool := range r.Servers[0].Tools {
		var profiles []string
		for _, p := range tool.Profiles {
			profiles = append(profiles, p.Profile)
			check.That(t, p.Bytes != 0 && p.Definition.Function.Parameters["type"] == "object",
				"%s for %s: got %+v, want what is sent", tool.Name, p.Profile, p)
		}
		if got := fmt.Sprint(profiles); got != "[plain openai openai-strict anthropic gemini googleai llamacpp]" || len(tool.Fingerprint) != 64 {
			t.Errorf("%s: got %s and %q, want every profile and a fingerprint", tool.Name, got, tool.Fingerprint)
		}
	}
	check.That(t, len(r.Servers[0].Tools) != 0, "got no tools")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file   string
		flags  []string
		status int
		stderr string
	}{
		"fine":                   {servers(demo), nil, statusFine, ""},
		"no servers":             {servers(), nil, statusFine, ""},
		"not reached":            {servers(gone), nil, statusMissing, ""},
		"skipped":                {servers(odd), nil, statusSkipped, ""},
		"no such tool":           {servers(strings.TrimSuffix(demo, "}") + `,"excludeTools":["no_such"]}`), nil, statusSkipped, ""},
		"wrong server":           {servers(demo, typo), nil, statusMissing, ""},
		"wrong, disabled":        {servers(demo, `"x":{"comand":"y","disabled":true}`), nil, statusMissing, ""},
		"bad file":               {`{"mcpServers":{`, nil, statusUsage, "mcp.json:1: the file ends"},
		"unknown flag":           {servers(), []string{"-x"}, statusUsage, "mcpchain: there is no flag -x; mcpchain inspect -help lists the flags"},
		"unknown profile":        {servers(), []string{"-profile", "x"}, statusUsage, "want all, plain, openai, openai-strict"},
		"endpoint, profile":      {servers(), []string{"-base-url", "http://x/v1", "-profile", "plain"}, statusUsage, "no -profile"},
		"model alone":            {servers(), []string{"-model", "x"}, statusUsage, "-base-url"},
		"host alone":             {servers(), []string{"-host", "vllm"}, statusUsage, "-host goes with -base-url or -model"},
		"call, endpoint":         {servers(), []string{"FILE", "-call", "add", "-base-url", "http://x/v1"}, statusUsage, "-base-url is for the report"},
		"call, budget":           {servers(), []string{"FILE", "-call", "add", "-tool-budget", "5"}, statusUsage, "-tool-budget is for the report"},
		"negative budget":        {servers(), []string{"-tool-budget", "-1"}, statusUsage, "-tool-budget is below 0"},
		"bad endpoint":           {servers(), []string{"-base-url", "x"}, statusUsage, "not a complete http or https URL"},
		"revision":               {servers(demo), []string{"-revision", "2025-11-25"}, statusFine, ""},
		"unknown revision":       {servers(demo), []string{"-revision", "demo=1"}, statusUsage, "want one of 2026-07-28"},
		"no such server":         {servers(demo), []string{"-revision", "x\u200b=2025-11-25"}, statusUsage, "-revision: there is no server \"x\\u200b\" to connect to"},
		"two files":              {servers(), []string{"other.json"}, statusUsage, "want one file"},
		"no file of that server": {servers(demo), []string{"-server", "x"}, statusUsage, `there is no server "x"`},
		"two requests":           {servers(demo), []string{"-call", "add", "-read", "x"}, statusUsage, "one of -call, -read and -prompt"},
		"bad arguments":          {servers(demo), []string{"FILE", "-call", "add", "[1]"}, statusUsage, "one JSON object"},
		"blank given twice":      {servers(demo), []string{"FILE", "-prompt", "evening", "city=Rome", "city=Oslo"}, statusUsage, `-prompt: "city" is given twice`},
		"two arguments":          {servers(demo), []string{"FILE", "-call", "add", "a=1", "b=2"}, statusUsage, "-call takes one JSON object, such as "},
		"URL":                    {servers(demo), []string{"https://u:p@example.com/mcp?k=1"}, statusUsage, `write {"mcpServers": {"NAME": {"url": "https://example.com/mcp"}}} into mcp.json`},
		"bad blanks":             {servers(demo), []string{"FILE", "-prompt", "evening", "Rome"}, statusUsage, "name=value"},
		"help":                   {servers(), []string{"-help"}, statusFine, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, stderr := inspectFile(t, tt.file, tt.flags...)
			check.That(t, status == tt.status && strings.Contains(stderr, tt.stderr), "got %d and %q, want %d and %q", status, stderr, tt.status, tt.stderr)
		})
	}
}
