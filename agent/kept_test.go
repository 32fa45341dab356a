package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// itemsOf is JSON in one line, of about 100 bytes for each item. The item x-answer has "the answer" in its third field.
func itemsOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := range n {
		id, note := fmt.Sprint(i), "nothing of note, as in most of these items"
		if i == n/2 {
			id, note = "answer", "the answer"
		}
		fmt.Fprintf(&b, `{"id":"x-%s","at":%d,"note":%q,"tags":["a","b"],"owner":"somebody"},`, id, i*17, note)
	}
	return strings.TrimSuffix(b.String(), ",") + `],"next":"page 2"}`
}

// exporting has a tool with so many items as its result.
func exporting(n int) adapter.Source {
	text := itemsOf(n)
	return adapter.Func("export", "Exports all items.", func(context.Context, struct{}) (string, error) { return text, nil },
		&adapter.FuncOptions{ReadOnly: true})
}

// handleIn is the handle that a shortened result names.
func handleIn(result string) string {
	_, after, _ := strings.Cut(result, `{"handle":"`)
	handle, _, _ := strings.Cut(after, `"`)
	return handle
}

// finder exports all items, looks for the one with its id, and answers with its third field. It goes by the history alone.
func newFinder() *agenttest.Model {
	return agenttest.PlayRepeating(func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		results := results(p.Request.Messages)
		read := func(arguments string) agenttest.Step {
			return agenttest.CallTools("read_result", fmt.Sprintf(`{"handle":%q,%s}`, handleIn(results[0]), arguments))
		}
		next := agenttest.Say("lost")
		switch len(results) {
		case 0:
			next = agenttest.CallTools("export", `{}`)
		case 1:
			next = read(`"pattern":"\"id\":\"x-answer\"","context":20`)
		case 2:
			_, after, _ := strings.Cut(results[1], ` in "`)
			pointer, _, _ := strings.Cut(after, `"`)
			next = read(fmt.Sprintf(`"pointer":%q,"fields":["note"]`, pointer))
		case 3:
			next = agenttest.Say(results[2])
		}
		return next(ctx, p)
	})
}

const foundNote = `{"note":"the answer"}`

// TestKeptResult finds a field in 10 MB of JSON by two calls and less than 4 KiB.
func TestKeptResult(t *testing.T) {
	for name, open := range everyStore {
		items := 100_000
		if name == "SQLite" || name == "sealed" {
			items = testenv.Pick(10_000, items)
		}
		t.Run(name, func(t *testing.T) {
			store, m := open(t), newFinder()
			a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{exporting(items)}})
			got := answers(t, a, foundNote, agent.WithRun("r"))
			said := results(agent.Inside(got.State).History)
			check.Require(t, len(said) == 3, "got %d results, want 3", len(said))
			within(t, "bytes for the field", len(said[1])+len(said[2]), 0, 4<<10)
			within(t, "tokens of the shortened result", model.Tokens(&model.Request{System: said[0]}, &model.Info{}), 0, 4400)
			check.Contains(t, "the shortened result", said[0], fmt.Sprintf(`; the whole is json: {"items":[%d objects],"next":string} …]`, items))
			check.Same(t, "tools before", m.Turns()[0].Tools(), []string{"export"})
			check.Same(t, "tools after", m.Turns()[1].Tools(), []string{"export", "read_result"})
			kept := agent.Inside(got.State).Kept
			check.That(t, len(kept) == 1 && kept[0].Handle == handleIn(said[0]), "got the kept results %+v", kept)
			for _, err := range record.Verify(t.Context(), store, record.Query{AllTenants: true}) {
				t.Error(err)
			}
		})
	}
}

// TestSmallResultTokens has no room for the handle of a result but what the model gets in any case.
func TestSmallResultTokens(t *testing.T) {
	for _, tokens := range []int{1, 50, 200} {
		opts := &agent.Options{Durable: agent.Durable{Store: record.NewMemory(), ResultTokens: tokens}, Tools: []adapter.Source{exporting(1000)}}
		got := answers(t, newAgent(t, newFinder(), opts), foundNote)
		within(t, fmt.Sprint("bytes of a result of tokens: ", tokens), len(results(agent.Inside(got.State).History)[0]), 0, 1<<10)
	}
}

// TestNotKept has results that are cut, or given as they are, also by a store that does not take a blob.
func TestNotKept(t *testing.T) {
	refuses := func(c *storeCall) error {
		if c.Method == "put" {
			return record.ErrTooLarge
		}
		return c.Do()
	}
	for name, opts := range map[string]*agent.Options{
		"without a store":      {},
		"negative":             {Durable: agent.Durable{Store: record.NewMemory(), ResultTokens: -1}},
		"a store that refuses": {Durable: agent.Durable{Store: watch(record.NewMemory(), refuses)}},
		"a hook that withholds": {Durable: agent.Durable{Store: record.NewMemory()}, Hooks: []agent.Hook{{AfterTool: func(_ context.Context, _ *agent.State, _ *agent.Call, r *run.Part) error {
			r.Text = "withheld"
			return nil
		}}}},
	} {
		m := play(uses(toolCall("c", "export", `{}`)), says("done"))
		opts.Tools = []adapter.Source{exporting(1000)}
		var in []agent.RunOption
		if opts.Durable.Store != nil {
			in = append(in, agent.WithRun("r"))
		}
		got := answers(t, newAgent(t, m, opts), "done", in...)
		check.Equal(t, name+": kept results", len(agent.Inside(got.State).Kept), 0)
		check.Equal(t, name+": a warning", len(got.Warnings) == 1, name == "a store that refuses")
		said := results(agent.Inside(got.State).History)[0]
		check.That(t, len(said) <= 64<<10 && !strings.Contains(said, "read_result") && !strings.Contains(said, "handle"), "%s: got a result of %d bytes, or one with a handle", name, len(said))
		if opts.Durable.Store != nil {
			all, err := opts.Durable.Store.Blobs(t.Context(), theRun)
			check.Same(t, name+": blobs", []any{len(all), err}, []any{0, nil})
		}
	}
}

// A hook that adds to a long result leaves its handle good.
func TestKeptWithANote(t *testing.T) {
	note := agent.Hook{AfterTool: func(_ context.Context, _ *agent.State, _ *agent.Call, r *run.Part) error {
		r.Text = "[from outside]\n" + r.Text
		return nil
	}}
	m := play(uses(toolCall("c", "export", `{}`)), says("done"))
	a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Tools: []adapter.Source{exporting(1000)}, Hooks: []agent.Hook{note}})
	state := agent.Inside(mustRun(t, a, human("go")).State)
	check.Require(t, len(state.Kept) == 1, "got %d kept results, want one", len(state.Kept))
	said := results(state.History)[0]
	check.That(t, strings.HasPrefix(said, "[from outside]\n") && handleIn(said) == state.Kept[0].Handle, "got the result %q", said)
}

// A long result that comes while the store is away is kept once it is back.
func TestKeptAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gone := away(record.NewMemory())
		a := newAgent(t, play(uses(toolCall("c", "export", `{}`)), says("done")), &agent.Options{
			Tools: []adapter.Source{exporting(1000)}, Durable: agent.Durable{Store: store},
			Hooks: []agent.Hook{{AfterTool: func(context.Context, *agent.State, *agent.Call, *run.Part) error {
				gone.Store(true)
				time.AfterFunc(8*time.Second, func() { gone.Store(false) })
				return nil
			}}},
		})
		got := mustRun(t, a, human("go"))
		check.Same(t, "kept results, and warnings", []int{len(agent.Inside(got.State).Kept), len(got.Warnings)}, []int{1, 0})
	})
}

// TestReadResultMistakes has read_result called with what does not fit.
func TestReadResultMistakes(t *testing.T) {
	m := play(uses(toolCall("c", "export", `{}`)),
		uses(toolCall("a", "read_result", `{"handle":"nothing"}`), toolCall("b", "read_result", `{"handle":"../x","offset":-1}`)), says("done"))
	got := mustRun(t, newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Tools: []adapter.Source{exporting(1000)}}), human("go"))
	said := results(agent.Inside(got.State).History)
	check.Equal(t, "an unknown handle", said[1],
		fmt.Sprintf("Error: there is no result with the handle \"nothing\": the handles are [%q]", handleIn(said[0])))
	check.Contains(t, "a bad offset", said[2], "offset")
	data, err := json.Marshal(got.State)
	var state ledger.State
	check.Must(t, errors.Join(err, json.Unmarshal(data, &state)))
	check.That(t, len(state.Kept) == 1 && state.Kept[0].Size == len(itemsOf(1000)), "after its JSON was read: got %v", state.Kept)
}

// TestSummaryNamesKeptResults replaces all that was said with a summary: the model still knows the handle.
func TestSummaryNamesKeptResults(t *testing.T) {
	summarized := false
	summary := func(_ context.Context, messages []run.Message, _ compact.Budget) (*compact.Result, error) {
		if len(messages) < 3 || summarized {
			return nil, nil
		}
		summarized = true
		said := run.Message{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartSummary, Text: "The user wants the note of x-answer."}}}
		return &compact.Result{Replaced: len(messages), Messages: []run.Message{said}}, nil
	}
	var told string
	m := agenttest.Play(agenttest.CallTools("export", `{}`),
		func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
			told = p.Request.Messages[0].Text()
			_, after, _ := strings.Cut(told, "\n- ")
			handle, _, _ := strings.Cut(after, ":")
			return agenttest.CallTools("read_result", fmt.Sprintf(`{"handle":%q,"pointer":"/items/500/note"}`, handle))(ctx, p)
		}, agenttest.Say("done"))
	opts := &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Tools: []adapter.Source{exporting(1000)}, Compact: summary}
	got := mustRun(t, newAgent(t, m, opts), human("go"))
	k := agent.Inside(got.State).Kept[0]
	check.Same(t, "summary", told, fmt.Sprintf("The user wants the note of x-answer.\n\nResults that are kept, for read_result:\n- %s: %d bytes of export, json %s", k.Handle, k.Size, k.Shape))
	check.Same(t, "results", results(agent.Inside(got.State).History), []string{`"the answer"`})
}

// A shortened result is shortened once more: it still says by what handle the whole is read, and what that is.
func TestTrimKeepsHandles(t *testing.T) {
	opts := &agent.Options{
		Durable: agent.Durable{Store: record.NewMemory()}, Tools: []adapter.Source{exporting(1000)},
		Compact: compact.Trim(&compact.Options{Window: 2000, KeepTurns: 1}),
	}
	got := answers(t, newAgent(t, newFinder(), opts), foundNote)
	said := results(agent.Inside(got.State).History)[0]
	k := agent.Inside(got.State).Kept[0]
	check.That(t, len(said) <= 1024 && handleIn(said) == k.Handle && strings.Contains(said, "the whole is json: "+k.Shape), "got %d bytes: %s", len(said), said)
}

// TestKeptResultByAdvance drives the run step by step, each in a process of its own, as an engine such as Temporal does.
func TestKeptResultByAdvance(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			step := func() *agent.Agent {
				return newAgent(t, newFinder(), &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{exporting(1000)}})
			}
			key, err := step().Begin(t.Context(), human("go"))
			for next := (&agent.Result{Status: run.StatusRunning}); err == nil && next.Status == run.StatusRunning; {
				next, err = step().Advance(t.Context(), key, nil)
			}
			check.Must(t, err)
			s := stateOf(t, store, key)
			check.That(t, s.Output == foundNote && len(s.Kept) == 1 && s.Kept[0].Digest == ledger.DigestOf([]byte(itemsOf(1000))),
				"got %q and %+v", s.Output, s.Kept)
		})
	}
}

// passing are two servers: one has a file of 1 or 5 MB, the other takes one.
func passing(t *testing.T, taken *[]string) adapter.Source {
	file := strings.Repeat("0123456789abcdef", testenv.Pick(1, 5)<<16)
	source := agenttest.NewServer(agenttest.Tool{Name: "read_file", ReadOnly: true,
		Run: func(context.Context, *agenttest.Call) (string, error) {
			return "first line\n" + file + "\nlast line", nil
		}})
	target := agenttest.NewServer(agenttest.Tool{
		Name:   "write_file",
		Schema: `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`,
		Run: func(_ context.Context, c *agenttest.Call) (string, error) {
			var in struct{ Path, Content string }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return "", err
			}
			*taken = append(*taken, in.Content)
			return fmt.Sprintf("wrote %d bytes", len(in.Content)), nil
		}})
	toolset := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "a", Transport: source}, {Name: "b", Transport: target}}, nil))(t)
	t.Cleanup(func() { _ = toolset.Close() })
	return toolset
}

// passer reads the file, and has it written elsewhere by its handle.
func passer(reference string) *agenttest.Model {
	return agenttest.PlayRepeating(func(ctx context.Context, p agenttest.Turn) (*model.Response, error) {
		said := results(p.Request.Messages)
		var next agenttest.Step
		switch len(said) {
		case 0:
			next = agenttest.CallTools("read_file", `{}`)
		case 1:
			next = agenttest.CallTools("write_file", fmt.Sprintf(`{"path":"copy","content":`+reference+`}`, handleIn(said[0])))
		default:
			next = agenttest.Say(said[1])
		}
		return next(ctx, p)
	})
}

// TestPassedResult has a file go from one server to another by its handle: the person reads what it stands for, allows
// it, and another process sends it. Nothing of it goes to the model or into a record but its head and tail.
func TestPassedResult(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken []string
			opts := &agent.Options{Durable: agent.Durable{Store: open(t)}, Tools: []adapter.Source{passing(t, &taken)}, Person: agent.Person{Approve: agent.AskPerson}}
			first := passer(`{"$result":%q}`)
			got, err := newAgent(t, first, opts).Run(t.Context(), human("go"), agent.WithRun("r"))
			for err == nil && got.Status == run.StatusWaiting && got.Questions[0].Tool != "write_file" {
				got, err = newAgent(t, first, opts).Resume(t.Context(), theRun, got.Questions[0].Allow())
			}
			check.Require(t, err == nil && got.Status == run.StatusWaiting, "got %v, %v", got.Status, err)
			k := agent.Inside(got.State).Kept[0]
			want := fmt.Sprintf(`{"path":"copy","content":{"$result":%q,"size":%d,"kind":"text","shape":"3 lines","sha256":%q}}`, k.Handle, k.Size, k.Digest)
			check.Equal(t, "the person is asked about", string(got.Questions[0].Arguments), want)
			second := passer(`{"$result":%q}`)
			got = resumed(t, newAgent(t, second, opts), got.Questions[0].Allow())
			check.Equal(t, "answer", got.Output, fmt.Sprintf("wrote %d bytes", k.Size))
			check.That(t, len(taken) == 1 && ledger.DigestOf([]byte(taken[0])) == k.Digest,
				"the server got %d files, or not the one that was read", len(taken))
			for _, p := range append(first.Turns(), second.Turns()...) {
				data := check.Value(json.Marshal(p.Request.Messages))(t)
				within(t, "bytes that the model got", len(data), 0, 40<<10)
			}
			for _, r := range load(t, opts.Durable.Store, theRun).Records {
				data := check.Value(r.MarshalJSON())(t)
				within(t, fmt.Sprint("bytes of record ", r.Seq), len(data), 0, 64<<10)
			}
		})
	}
}

// TestPassedResultThatDoesNotFit is refused before anyone is asked.
func TestPassedResultThatDoesNotFit(t *testing.T) {
	for reference, want := range map[string]string{
		`{"$result":%q,"pointer":"/a"}`:                  `there is no "/a"`,
		`{"$result":"r0123456789abcdef","unused":%[1]q}`: "content",
		`{"$result":%q,"sha256":"00"}`:                   "is not the one that the arguments name",
		`[{"$result":%q}]`:                               "want string, got array",
	} {
		var taken []string
		m := passer(reference)
		got, err := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Tools: []adapter.Source{passing(t, &taken)}}).Run(t.Context(), human("go"))
		check.Same(t, reference+": error, and calls", []any{err, len(taken)}, []any{nil, 0})
		check.Contains(t, reference, got.Output, want)
		check.Contains(t, reference, got.Output, "Nothing was done")
	}
}
