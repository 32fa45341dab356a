package agenteval

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/price"
)

// taped has what a tape must keep apart: secrets, and calls that are the same.
const taped = `
name: taped
servers:
  bank: {inprocess: bank, seed: {Ada: 100, Alan: 0}}
  stub: {inprocess: stub, seed: {look: {description: Looks a word up., inputSchema: {type: object}, result: "found\nsk-proj-0123456789abcdef"}}}
tasks:
  - id: secrets
    servers: [stub]
    prompt: My key is sk-abcdefghijklmnop1234, and my word is xyzzy42plugh.
    script: [{calls: [{tool: look, args: {}}]}, {say: I found xyzzy42plugh.}]
    expect: {answer: {contains: [found]}}
  - id: twice
    servers: [bank]
    prompt: Ask for the balance twice.
    script: [{calls: [{tool: balance, args: {owner: Ada}}, {tool: balance, args: {owner: Ada}}]}, {say: Ada has 100.}]
    expect: {answer: {contains: ["100"]}, effects: {}}
`

// same is a line without what differs between a model and its recording.
func same(t *testing.T, l *results.Line) string {
	t.Helper()
	c := *l
	c.Date, c.Duration, c.Mode, c.Config = time.Time{}, 0, "", ""
	return string(check.Value(json.MarshalIndent(&c, "", " "))(t))
}

// play is a model that plays a cassette.
func play(dir string) Model {
	return Model{Mode: results.Recorded, Endpoint: models.Model{Key: theKey}, Cassette: dir}
}

// A live model that is recorded has the same results, byte for byte, when it is played: scores, counts, tokens and transcripts.
func TestRecordedModel(t *testing.T) {
	live := endpoint(t, taped)
	live.Cassette, live.Record = t.TempDir(), true
	recorded := linesOf(t, taped, live)
	played := linesOf(t, taped, play(live.Cassette))
	for id, l := range recorded {
		p := played[id]
		check.That(t, l.Outcome == results.Pass && l.Mode == results.Live && p.Mode == results.Recorded && p.Model == "gpt-4o" && l.Reported && l.Tokens != 0,
			"%s: got %s (%s, %d tokens): %s; and %s (%s)", id, l.Outcome, l.Mode, l.Tokens, l.Reason, p.Model, p.Mode)
		check.Same(t, id, same(t, p), same(t, l))
	}
	noSecrets(t, live.Cassette)
	for id, l := range recorded {
		text := same(t, l)
		check.That(t, !hasSecret(text), "%s: the line has a secret: %s", id, text)
	}
}

func hasSecret(text string) bool {
	return strings.Contains(text, "sk-") || strings.Contains(text, "xyzzy42")
}

func noSecrets(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		check.That(t, !hasSecret(string(data)), "%s has a secret: %s", path, data)
		return err
	})
	check.That(t, err == nil && files == 3, "got %d files, %v, want the label and one for each task", files, err)
}

// A request that differs in one character is a miss, which names the task, the turn and the difference; the trial is void.
func TestMiss(t *testing.T) {
	live := endpoint(t, taped)
	live.Cassette, live.Record = t.TempDir(), true
	linesOf(t, taped, live)
	for _, c := range []struct {
		what, from, to, task string
		wants                []string
	}{
		{"a prompt", "My key", "My keys", "secrets", []string{`task "secrets"`, "turn 1", "My keys is"}},
		{"the description of a tool", "Looks a word up.", "Looks a word up!", "secrets", []string{`task "secrets"`, "turn 1", "recorded \"Description\": \"Looks a word up.\"", "asked \"Description\": \"Looks a word up!\""}},
		{"a result", "{Ada: 100", "{Ada: 101", "twice", []string{`task "twice"`, "turn 2", "101"}},
	} {
		changed := strings.Replace(taped, c.from, c.to, 1)
		l := linesOf(t, changed, play(live.Cassette))[c.task]
		for _, want := range c.wants {
			check.That(t, changed != taped && l.Outcome == results.Void && l.Cause == "harness" && strings.Contains(l.Reason, want),
				"%s: got %s (%s): %s, want %q", c.what, l.Outcome, l.Cause, l.Reason, want)
		}
	}
}

// What a cassette has decides which model the results are of, and what may be recorded into it.
func TestCassettes(t *testing.T) {
	one, other := endpoint(t, taped), endpoint(t, taped)
	one.Cassette, other.Cassette, one.Record, other.Record = t.TempDir(), t.TempDir(), true, true
	linesOf(t, taped, one)
	linesOf(t, taped, one) // again: it takes the place of the first recording
	other.Endpoint.Name = "gpt-4.1"
	linesOf(t, taped, other)
	a, b := linesOf(t, taped, play(one.Cassette))["twice"], linesOf(t, taped, play(other.Cassette))["twice"]
	check.That(t, a.Outcome == results.Pass && b.Outcome == results.Pass && a.Key() != b.Key() && b.Model == "gpt-4.1",
		"got %s by %s (%s) and %s by %s (%s)", a.Outcome, a.Model, a.Reason, b.Outcome, b.Model, b.Reason)
	again := linesOf(t, taped, play(one.Cassette+strings.Repeat("/.", 40)))["twice"]
	check.Equal(t, "by another path", again.Key(), a.Key())
	s := check.Value(suite.Parse([]byte(taped)))(t)
	changed := *s
	changed.About = "changed"
	other.Cassette = one.Cassette
	for what, c := range map[string]struct {
		spec  Model
		suite *suite.Suite
	}{"another model": {other, s}, "another version": {one, &changed}, "nothing": {play(t.TempDir()), s}} {
		check.Fails(t, check.Err(c.spec.Open([]*suite.Suite{c.suite})), what)
	}
}

// served is a task with a server that is a process: it reports progress, asks the person, and keeps a file.
func served(command string) string {
	return fmt.Sprintf(`
name: served
servers: {desk: {command: [%q], era: legacy, env: {%s: "1", GREETED: "${DIR}/greeted", DESK_TOKEN: open-sesame-42}}}
tasks:
  - id: greet
    prompt: Greet Ada and me. The token is open-sesame-42.
    people: {forms: [{action: accept, content: {name: Grace}}]}
    script:
      - calls: [{tool: greet, args: {name: Ada}}]
      - {sees: [Hello Ada], calls: [{tool: welcome, args: {}}]}
      - {sees: [Hello Grace], say: Hello}
    expect: {answer: {exact: Hello}, state: [{file: greeted, text: "Hello Ada\nHello Grace\n"}]}
`, command, asServer)
}

// A server that is recorded is not started when it is played. A message that it lacks is a miss.
func TestRecordedServers(t *testing.T) {
	self := check.Value(os.Executable())(t)
	live := endpoint(t, served(self))
	live.Cassette, live.Record = t.TempDir(), true
	recorded := linesOf(t, served(self), live)["greet"]
	offline := play(live.Cassette)
	offline.Servers = true
	played := linesOf(t, served("/nonexistent/server"), offline)["greet"]
	check.Require(t, recorded.Outcome == results.Pass && played.Outcome == results.Pass,
		"got %s: %s; and %s: %s", recorded.Outcome, recorded.Reason, played.Outcome, played.Reason)
	recorded.SuiteHash = played.SuiteHash // the command differs
	check.Same(t, "played", same(t, played), same(t, recorded))
	name := filepath.Join(live.Cassette, "served", "greet.0.jsonl")
	data, err := os.ReadFile(name)
	check.That(t, err == nil && !strings.Contains(string(data), "sesame"), "the tape has a secret, %v: %s", err, data)
	extra := `{"server":{"label":"desk","connection":1,"sent":true,"body":{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"greet"}}}}` + "\n"
	for what, c := range map[string]struct{ tape, want string }{
		"another argument": {strings.ReplaceAll(string(data), `"arguments":{"name":"Ada"}`, `"arguments":{"name":"Eve"}`), `server "desk", connection 1, tools/call: line`},
		"one call more":    {string(data) + extra, "a recorded call was not made"},
	} {
		err := os.WriteFile(name, []byte(c.tape), 0o600)
		check.Require(t, err == nil && c.tape != string(data), "%v", err)
		if l := linesOf(t, served("/nonexistent/server"), offline)["greet"]; l.Outcome != results.Void || !strings.Contains(l.Reason, c.want) || !strings.Contains(l.Reason, `task "greet"`) {
			t.Errorf("%s: got %s: %s, want %q", what, l.Outcome, l.Reason, c.want)
		}
	}
	remote := strings.Replace(served(self), "command: ["+fmt.Sprintf("%q", self)+"]", "url: http://localhost:1/mcp", 1)
	s := check.Value(suite.Parse([]byte(remote)))(t)
	check.Text(t, Run(t.Context(), []*suite.Suite{s}, &Options{Model: offline}), "has a URL")
}

// A model with a price has a cost, also when it is played. Without prices there is no cost.
func TestCost(t *testing.T) {
	live := endpoint(t, taped)
	live.Cassette, live.Record = t.TempDir(), true
	linesOf(t, taped, live)
	s := check.Value(suite.Parse([]byte(taped)))(t)
	for _, prices := range []*price.Table{nil, {Date: "2026-11-01", Models: []price.Price{{Model: "gpt-4o", Currency: "USD", Input: 1_000_000, Output: 1_000_000}}}} {
		o := Options{Model: play(live.Cassette), Dir: t.TempDir(), Prices: prices, Patience: patience}
		lines := check.Value(Lines(t.Context(), []*suite.Suite{s}, o))(t)
		for _, l := range lines {
			want := int64(0)
			if prices != nil {
				want = l.Tokens
			}
			check.That(t, l.Cost["USD"] == want && (l.Prices == "") == (prices == nil),
				"%s: got %v of %d tokens by prices of %q, want %d", l.Task, l.Cost, l.Tokens, l.Prices, want)
		}
	}
}

// An endpoint that fails says nothing of the agent.
func TestEndpointFails(t *testing.T) {
	live := endpoint(t, taped)
	live.Endpoint.Name = "gpt-0"
	l := linesOf(t, taped, live)["twice"]
	check.That(t, l.Outcome == results.Void && l.Cause == "infra" && strings.Contains(l.Reason, "does not exist"), "got %s (%s): %s", l.Outcome, l.Cause, l.Reason)
}

// theKey is the key of models in tests, and a word of a prompt.
const theKey = "xyzzy42plugh"

// endpoint is a host that says what the scripts of a suite say. It knows a task by its prompt, and the step by the
// replies before it.
func endpoint(t *testing.T, yaml string) Model {
	t.Helper()
	s := check.Value(suite.Parse([]byte(yaml)))(t)
	web := httptest.NewServer(&fakehost.OpenAI{Key: theKey, Reply: func(r *fakehost.OpenAIRequest) (reply []fakehost.Block) {
		at := strings.Count(string(r.Body), `"role":"assistant"`)
		i := slices.IndexFunc(s.Tasks, func(task *suite.Task) bool { return strings.Contains(string(r.Body), task.Prompt) })
		step := s.Tasks[i].Script[at]
		if step.Say != "" {
			reply = append(reply, fakehost.Block{Type: "text", Text: step.Say})
		}
		for j, c := range step.Calls {
			reply = append(reply, fakehost.Block{Type: "call", ID: fmt.Sprintf("c%d_%d", at, j), Name: c.Tool, Arguments: string(c.Args)})
		}
		return reply
	}})
	t.Cleanup(web.Close)
	return Model{Mode: results.Live, Endpoint: models.Model{Name: "gpt-4o", Host: "openai", API: "chat", BaseURL: web.URL + "/v1", Key: theKey}}
}
