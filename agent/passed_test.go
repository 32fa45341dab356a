package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// passing are two servers: one has a file of 1 or 5 MB, the other takes one.
func passing(t *testing.T, taken *[]string) adapter.Source {
	file := strings.Repeat("0123456789abcdef", testenv.Pick(1, 5)<<16)
	source := &agenttest.Server{Tools: []agenttest.Tool{{Name: "read_file", ReadOnly: true,
		Run: func(context.Context, *agenttest.Call) (string, error) {
			return "first line\n" + file + "\nlast line", nil
		}}}}
	target := &agenttest.Server{Tools: []agenttest.Tool{{
		Name:   "write_file",
		Schema: `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`,
		Run: func(_ context.Context, c *agenttest.Call) (string, error) {
			var in struct{ Path, Content string }
			if err := c.Decode(&in); err != nil {
				return "", err
			}
			*taken = append(*taken, in.Content)
			return fmt.Sprintf("wrote %d bytes", len(in.Content)), nil
		}}}}
	toolset, err := adapter.Open(t.Context(), []adapter.Server{{Name: "a", Transport: source}, {Name: "b", Transport: target}}, nil)
	check(t, err)
	t.Cleanup(func() { _ = toolset.Close() })
	return toolset
}

// passer reads the file, and has it written elsewhere by its handle.
func passer(reference string) *agenttest.Model {
	return agenttest.PlayRepeating(func(ctx context.Context, p agenttest.Prompt) (*model.Response, error) {
		said := results(p.Request.Messages)
		var next agenttest.Step
		switch len(said) {
		case 0:
			next = agenttest.Use(agenttest.ToolCall{Tool: "read_file", Arguments: `{}`})
		case 1:
			next = agenttest.Use(agenttest.ToolCall{Tool: "write_file", Arguments: fmt.Sprintf(`{"path":"copy","content":`+reference+`}`, handleIn(said[0]))})
		default:
			next = agenttest.Say(said[1])
		}
		return next(ctx, p)
	})
}

// TestPassedResult has a file go from one server to another by its handle: the person reads what it stands for, allows it, and
// another process sends it. Nothing of it goes to the model or into a record but its head and tail.
func TestPassedResult(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var taken []string
			opts := &agent.Options{Durable: agent.Durable{Store: open(t)}, Tools: []adapter.Source{passing(t, &taken)}, Person: agent.Person{Approve: agent.AskPerson}}
			first := passer(`{"$result":%q}`)
			got, err := newAgent(t, first, opts).Run(t.Context(), human("go"), agent.In("r"))
			for err == nil && got.Status == run.StatusWaiting && got.Questions[0].Tool != "write_file" {
				got, err = newAgent(t, first, opts).ResumeRun(t.Context(), theRun, got.Questions[0].Allow())
			}
			if err != nil || got.Status != run.StatusWaiting {
				t.Fatalf("got %v, %v", got.Status, err)
			}
			k := agent.Inside(got.State).Kept[0]
			want := fmt.Sprintf(`{"path":"copy","content":{"$result":%q,"size":%d,"kind":"text","shape":"3 lines","sha256":%q}}`, k.Handle, k.Size, k.Digest)
			if asked := string(got.Questions[0].Arguments); asked != want {
				t.Errorf("the person was asked about\n%s\nwant\n%s", asked, want)
			}
			second := passer(`{"$result":%q}`)
			got, err = newAgent(t, second, opts).ResumeRun(t.Context(), theRun, got.Questions[0].Allow())
			if err != nil || got.Output != fmt.Sprintf("wrote %d bytes", k.Size) {
				t.Fatalf("got %q, %v", got.Output, err)
			}
			if len(taken) != 1 || ledger.DigestOf([]byte(taken[0])) != k.Digest {
				t.Errorf("the server got %d files, and not the one that was read", len(taken))
			}
			for _, p := range append(first.Prompts(), second.Prompts()...) {
				data, err := json.Marshal(p.Request.Messages)
				if err != nil || len(data) > 40<<10 {
					t.Errorf("the model got %d bytes, %v", len(data), err)
				}
			}
			log := load(t, opts.Durable.Store, theRun)
			for _, r := range log.Records {
				if data, err := r.MarshalJSON(); err != nil || len(data) > 64<<10 {
					t.Errorf("record %d has %d bytes, %v", r.Seq, len(data), err)
				}
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
		if err != nil || len(taken) > 0 || !strings.Contains(got.Output, want) || !strings.Contains(got.Output, "Nothing was done") {
			t.Errorf("%s: got %q, %v, and %d calls", reference, got.Output, err, len(taken))
		}
	}
}
