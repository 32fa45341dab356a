package chat

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	o := converse(t, `What is 17 plus 25, and what 6 times 7?

How is the weather in Berlin and Atlantis?
Summarize: Go is a language. It is small.
Book a table at Luigi
Count to 2
Show me a picture
What did I ask before?
`, "-yes", "-answer", "date=2030-05-01", "-answer", "time=19:30", "-answer", "people=4", "-answer", "seating=On the terrace")
	o.check(t,
		`The result: 17 + 25 = 42.
The result: 6 × 7 = 42.
The tool weather says: Berlin: 18 °C, light rain
The tool weather says: Error: no weather for "Atlantis"; try one of Berlin, Lima, Lisbon, Nairobi, Oslo, Tokyo
Summary: Go is a language.
Booked: a table for 4 on the terrace at Luigi on 2030-05-01 at 19:30.
The tool count says: counted to 2
Here is the picture: a sunset over the sea.
Before that you asked: Show me a picture
`, 0, "this is a demo model that follows fixed rules", "server demo: 7 tools", `→ demo add {"a":17,"b":25}`, "← demo add: 17 + 25 = 42",
		"count 1/2 counted to 1", "demo asks the model: system prompt: Summarize the text of the user in one short sentence. user: Go is a language. It is small.", "the model answered demo: Go is a language.", "answer to demo: accept")

	var got []string
	for line := range strings.Lines(o.stderr) {
		if begin := regexp.MustCompile(`^→ \S+ \S+|^  the model answered|^  answer to \S+: \S+|^count [12]/2`).FindString(line); begin != "" {
			got = append(got, strings.TrimSpace(begin))
		}
	}
	slices.Sort(got[:2]) // the two sums run concurrently
	check.Same(t, "calls and answers", got, []string{
		"→ demo add", "→ demo multiply", "→ demo weather", "→ demo weather", "→ demo summarize", "the model answered",
		"→ demo book_table", "answer to demo: accept", "→ demo count", "count 1/2", "count 2/2", "→ demo picture",
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()
	o := converse(t, "What is 17 plus 25?\n")
	o.check(t, o.stdout, 1,
		"denied demo: tool call add: there is no terminal to ask on; start with -yes to allow it",
		"\nmcpchain: 1 call denied, because no person could be asked; start with -yes to allow them\n")
	check.That(t, strings.HasPrefix(o.stdout, "Error: the call of add was denied: "), "got the answer %q, want one that says that nothing was run", o.stdout)
}

func TestDeclinedForm(t *testing.T) {
	t.Parallel()
	const declined = "No table was booked: the guest did not fill in the form (decline).\n"
	const failed = "\nmcpchain: 1 form declined, because no person could be asked and -answer did not complete it; see above\n"
	converse(t, "Book a table\n", "-yes").check(t, declined, 1, failed,
		"declined demo: When should the table at Chez Démo be booked?\n  there is no terminal to ask on; give -answer demo/key=value for the fields date, time, people, seating, children, note")
	o := converse(t, "Book a table for 4\n", "-yes", "-answer", "date=2030-05-01", "-answer", "tme=19:30")
	o.check(t, declined, 1, "\n  -answer: no field \"tme\"; did you mean \"time\"?\n", failed)
	check.That(t, !strings.Contains(o.stderr, "an answer is required"), "one mistake is reported twice:\n%s", o.stderr)
}

func TestPipedCommands(t *testing.T) {
	t.Parallel()
	o := converse(t, "/tools\n/read demo://menu\n/etc/hosts, what is it?\n")
	o.check(t, o.stdout, 0, "\ndemo://menu of the server demo:\n")
	holds(t, o.stdout, "add (demo) Adds two numbers.\n", "Lemon tart", "I am a demo model")
	converse(t, "", "-prompt", "/prompts").check(t, "evening city=… [people=…] (demo) Looks at the weather and books a table.\n", 0)
	converse(t, "/resources\n/read demo://dish/Lemon%20tart\n").check(t,
		"demo://menu (demo) Menu of the restaurant\ndemo://dish/{name} (demo) template: A dish\nLemon tart is on the menu.\n", 0)
	converse(t, "/read\n/nonsense\n/promt\n").check(t, "", 1,
		"error: usage: /read URI; /resources lists them\n", "error: no command /nonsense; /help lists them\n", "error: no command /promt (did you mean \"/prompt\"?); /help lists them\n")
}

func TestRevision(t *testing.T) {
	t.Parallel()
	path := configure(t, "new=good", "old=good")
	converse(t, "", "-config", path, "-revision", "old=2025-11-25", "-yes", "-prompt", "call old__add {\"a\":1,\"b\":2}").check(t,
		"The result: 1 + 2 = 3.\n", 0, "server new: 7 tools, protocol revision 2026-07-28\n", "server old: 7 tools, protocol revision 2025-11-25\n")
	converse(t, "", "-revision", "none=2025-11-25").check(t, "", 2, "mcpchain: -revision: there is no server \"none\" to connect to; mcpchain chat -help lists the flags\n")
	converse(t, "", "-revision", "2025").check(t, "", 2, "want one of 2026-07-28, 2025-11-25")
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	converse(t, "", "-nonsense").check(t, "", 2, "mcpchain: there is no flag -nonsense; mcpchain chat -help lists the flags\n")
	converse(t, "hello\n", "-store", "x.db").check(t, "", 2, "mcpchain: -store is for a conversation on a terminal: that of a script is not stored; ")
	o := converse(t, "", "-help")
	check.That(t, o.status == 0 && strings.Contains(o.stdout, "-store file"), "help: got %+v", o)
}

// A file that cannot be read has the exit status of a wrong command line.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	path := write(t, "mcp.json", "{\n  \"mcpServers\": {\n    \"files\": {\n  }\n}")
	o := converse(t, "hello\n", "-config", path)
	o.check(t, "", 2)
	check.Equal(t, "", o.stderr, "mcpchain: "+path+":5: the file ends, want a comma or } for what begins on line 1\n")
	converse(t, "", "-config", path+"x").check(t, "", 2, "mcpchain: read server configuration: open "+path+"x: no such file or directory\n")
	project := command(t, "-base-url", "http://127.0.0.1:1", "-model", "m")
	project.Dir = filepath.Dir(path)
	finish(t, project, "").check(t, "", 2, "mcpchain: mcp.json:5: the file ends, ")
	converse(t, "", "-models", path).check(t, "", 2, "mcpchain: read models: "+path+":2: ")
}

// A server with a mistake in the file is reported with its line, and the others work.
func TestServersThatAreWrittenWrong(t *testing.T) {
	t.Parallel()
	wrong := []string{
		`files=!{"comand": "x"}`, `unset=!{"command": "${NO_SUCH_VARIABLE_HERE}"}`, `line=!{"command": "npx -y some-server"}`, `=!{}`, `off=!{"comand": "x", "disabled": true}`,
	}
	path := configure(t, append(wrong, "good")...)
	o := converse(t, "What is 1 plus 2?\n", "-yes", "-config", path)
	o.check(t, "The result: 1 + 2 = 3.\n", 0, "connecting to good …", "server good: 7 tools",
		`left out: `+path+`:2: server "files": comand: unknown key; did you mean "command"?`,
		`left out: `+path+`:3: server "unset": command: environment variable NO_SUCH_VARIABLE_HERE is not set`,
		`left out: `+path+`:4: server "line": command: there is no such program; arguments belong in "args"`,
		`left out: `+path+`:5: server "": a server needs a name`)
	check.That(t, !strings.Contains(o.stderr, "off"), "a disabled server is reported:\n%s", o.stderr)

	converse(t, "hello\n", "-config", configure(t, wrong...)).check(t, converse(t, "hello\n", "-config", configure(t)).stdout, 1,
		"there are no tools", "\nmcpchain: no server could be reached, of 4 servers\n")
}

func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	path := configure(t, "good", "broken=crash")
	converse(t, "What is 1 plus 2?\n", "-yes", "-config", path).check(t, "The result: 1 + 2 = 3.\n", 0,
		"this is a demo model", "server good: 7 tools", "left out: "+path+`:3: server "broken": the program "`, `" came to its end: exit status 3; it wrote to stderr:`+"\n  reading the settings\n  no database at /var/db\n")

	path = configure(t, `gone=!{"command": "no-such-program-here"}`, `off=!{"command": "x", "disabled": true}`)
	o := converse(t, "What is 1 plus 2?\n", "-yes", "-config", path)
	o.check(t, "I am a demo model that follows fixed rules, and I was given no tools that I could use for this.\n", 1,
		"connecting to gone …", "left out: "+path+`:2: server "gone": start "no-such-program-here": `, "there are no tools",
		"\nmcpchain: no server could be reached, of 1 server\n")

	path = configure(t, "slow=mute")
	converse(t, "", "-config", path, "-connect-timeout", "10ms").check(t, "", 1, "left out: "+path+`:2: server "slow": the program "`,
		`" runs, but gave no answer within 10ms (-connect-timeout); is it an MCP server, `)
}

func TestNoisyServer(t *testing.T) {
	t.Parallel()
	converse(t, "What is 1 plus 2?\n", "-yes", "-config", configure(t, "loud=noise")).check(t, "The result: 1 + 2 = 3.\n", 0)
}

func TestHugeResult(t *testing.T) {
	t.Parallel()
	converse(t, "call huge\nWhat is 1 plus 2?\n", "-yes", "-config", configure(t, "big=huge")).check(t,
		"The tool huge says: Error: the tool ran, but its result is too large to be received\nThe result: 1 + 2 = 3.\n", 0,
		"✗ big huge: ", "message too large")
}

// Each end of a server's process is reported once, and so is each return.
func TestServerThatVanishes(t *testing.T) {
	t.Parallel()
	p := start(t, "-yes", "-config", configure(t, "frail=vanish"))
	defer time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }).Stop()
	p.say("call vanish")
	told := map[string]int{}
	for line := range p.stderr {
		for _, about := range []string{"exit status 9", "lost the server frail, and start it again: the program ", "  out of memory", "the server frail is back", "given up"} {
			if strings.Contains(line, about) && !strings.HasPrefix(line, "✗ ") { // a failed call has its own
				told[about]++
			}
		}
		switch {
		case !strings.Contains(line, "the server frail is back"):
		case told["the server frail is back"] == 1:
			p.say("call vanish")
		default:
			p.say("hello")
			p.close()
		}
	}
	want := map[string]int{"exit status 9": 2, "lost the server frail, and start it again: the program ": 2, "  out of memory": 2, "the server frail is back": 2}
	p.wait(0)
	check.Same(t, "told", told, want)
}

// A call that does not end is stopped by a timeout, and the error names the flag for it.
func TestWedgedServer(t *testing.T) {
	path := configure(t, "w=wedge")
	const (
		idle  = ": neither an answer nor progress within 3s; -idle-timeout gives it longer, or the server's \"timeout\" in the file\n"
		whole = ": no answer within 3s; -call-timeout gives it longer\n"
	)
	for _, tt := range []struct {
		prompt, flag, want string
		status             int
	}{
		{"call wedge {}", "-idle-timeout", idle, 0}, {"call wedge {}", "-call-timeout", whole, 0},
		{"call busy {}", "-call-timeout", whole, 0}, {"/read wedge://x", "-idle-timeout", idle, 1},
	} {
		t.Run(tt.prompt+" "+tt.flag, func(t *testing.T) {
			t.Parallel()
			o := converse(t, "", "-config", path, "-yes", "-prompt", tt.prompt, tt.flag, "3s")
			o.check(t, o.stdout, tt.status, tt.want)
			check.That(t, tt.status != 0 || o.stdout != "", "the model did not learn of it")
		})
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	o := converse(t, `call add {"a": [], "c": 3}`+"\ncall nothing {}\nWhat is 1 plus 2?\n", "-yes")
	o.check(t, o.stdout, 0, "✗ demo add: ")
	holds(t, o.stdout, `"b"`, `there is no tool named "nothing".`, "1 + 2 = 3")
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(tryout.ModelHandler())
	defer server.Close()
	o := converse(t, "What is 1 plus 2?\n", "-demo", "-yes", "-base-url", server.URL+"/v1/", "-model", "some-model")
	o.check(t, "The result: 1 + 2 = 3.\n", 0, "model: some-model at "+server.URL+"/v1\n", "server demo: 7 tools")
	check.That(t, !strings.Contains(o.stderr, "demo model"), "the demo model is used although one was named:\n%s", o.stderr)
}

// A script continues after a failed turn, and fails at the end.
func TestEndpointThatRefuses(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/v1" // no other test can get this port
	o := converse(t, "one\ntwo\n", "-base-url", url, "-model", "m")
	o.check(t, "", 1, "connection refused")
	got := errorLines(o.stderr)
	check.That(t, len(got) == 2 && strings.Contains(got[0], "127.0.0.1:1"), "got %q, want an error for each turn that names the endpoint", got)
	converse(t, "", "-base-url", url, "-model", "m", "-prompt", "one").check(t, "", 1, "connection refused")
}

func TestEndpointWithoutVersion(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(tryout.ModelHandler())
	defer server.Close()
	for _, api := range []string{"chat", "responses"} {
		converse(t, "", "-base-url", server.URL, "-model-api", api, "-model", "m", "-prompt", "one").check(t, "", 1,
			" at "+strings.TrimPrefix(server.URL, "http://")+": HTTP status 404", "; the base URL is "+server.URL+": does it lack /v1?\n")
	}
}

func errorLines(stderr string) []string {
	var out []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "error: ") {
			out = append(out, line)
		}
	}
	return out
}

func TestEndpointThatTalksGarbage(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>Welcome</html>") },
		"half a stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hel`)
		},
		"wrong key": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error": {"message": "Incorrect API key provided"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			cmd := command(t, "-prompt", "hello", "-base-url", server.URL+"/v1?token=hunter2", "-model", "m")
			cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-hunter2")
			o := finish(t, cmd, "")
			o.check(t, "", 1)
			got := errorLines(o.stderr)
			check.That(t, len(got) == 1, "got %q, want one line", got)
			check.That(t, !strings.Contains(o.stderr, "hunter2"), "a secret is shown:\n%s", o.stderr)
		})
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	converse(t, strings.Repeat("x", 1<<20+1)+"\nWhat is 1 plus 2?\n", "-yes").check(t, "The result: 1 + 2 = 3.\n", 1,
		"error: a line of input has more than 1048576 bytes and was skipped")
}

// TestModelsOfToday uses models of OpenAI that take tools at one of its APIs only, with and without an effort.
func TestModelsOfToday(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-model gpt-6-astra", "-model gpt-6-astra -effort high", "-model gpt-5.6-sol", "-model gpt-5.6-sol -effort high", "-model gpt-6-sol -model-api chat"} {
		host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
			if strings.Contains(string(r.Body), `"call_1"`) {
				return []fakehost.Block{{Type: "reasoning", Text: "Now I know."}, {Type: "text", Text: "It is 42."}}
			}
			return []fakehost.Block{{Type: "reasoning", Text: "Add them."}, {Type: "call", ID: "call_1", Name: "add", Arguments: `{"a":17,"b":25}`}}
		}}
		server := httptest.NewServer(host)
		t.Cleanup(server.Close)
		cmd := command(t, strings.Fields(args+" -host openai -demo -yes -base-url "+server.URL+"/v1")...)
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY=key-1")
		o := finish(t, cmd, "What is 17 plus 25?\n")
		check.Require(t, o.status == 0 && o.stdout == "It is 42.\n" && len(host.Invalid()) == 0 && len(host.Requests()) == 2,
			"%s: got %+v, refused %q", args, o, host.Invalid())
		want := "/v1/responses"
		if strings.HasSuffix(args, "chat") {
			want = "/v1/chat/completions"
		}
		got := host.Requests()[0]
		check.That(t, got.Path == want && strings.Contains(args, "high") == strings.Contains(string(got.Body), `"effort":"high"`), "%s: got %s %s", args, got.Path, got.Body)
	}
}
