package concierge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
)

// restaurant is a server with two tools. It records what was booked.
type restaurant struct{ booked []string }

func (r *restaurant) open(t *testing.T) *adapter.Toolset {
	t.Helper()
	server := agenttest.NewServer(
		agenttest.Tool{Name: "free", Description: "The free tables of a day.", ReadOnly: true, Run: func(context.Context, *agenttest.Call) (string, error) {
			return "19:00, 21:00", nil
		}},
		agenttest.Tool{Name: "book", Description: "Books a table.", Run: func(_ context.Context, c *agenttest.Call) (string, error) {
			var in struct{ At string }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return "", err
			}
			r.booked = append(r.booked, in.At)
			return "booked for " + in.At, nil
		}},
	)
	tools, err := adapter.Open(t.Context(), []adapter.Server{{Name: "luigi", Transport: server}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	return tools
}

// TestConcierge scripts what a model could do, and tests what the agent does with it.
func TestConcierge(t *testing.T) {
	for _, test := range []struct {
		name   string
		wants  bool
		booked []string
		told   string // to the model, instead of a result
	}{
		{"wanted", true, []string{"19:00"}, "booked for 19:00"},
		{"not wanted", false, nil, "Error: the call of book was denied: the guest does not want it. Nothing was done."},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := agenttest.Play(
				agenttest.CallTools("free", `{}`),
				agenttest.CallTools("book", `{"at":"19:00"}`),
				agenttest.Say("That is all."),
			)
			var asked []string
			guest := func(tool, arguments string) bool {
				asked = append(asked, tool+" "+arguments)
				return test.wants
			}
			luigi := &restaurant{}
			concierge, err := New(model, luigi.open(t), guest)
			if err != nil {
				t.Fatal(err)
			}
			result, err := concierge.Run(t.Context(), agent.Text("A table for tonight, please."))
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{`book {"at":"19:00"}`}; !slices.Equal(asked, want) {
				t.Errorf("the guest was asked %q, want %q", asked, want)
			}
			if !slices.Equal(luigi.booked, test.booked) {
				t.Errorf("booked %q, want %q", luigi.booked, test.booked)
			}
			last := model.Turns()[2]
			if got := last.Results(); !slices.Equal(got, []string{test.told}) {
				t.Errorf("the model was told %q, want %q", got, test.told)
			}
			if result.Usage.Turns != 3 {
				t.Errorf("got %d turns, want 3", result.Usage.Turns)
			}
		})
	}
}

// TestModelFails has a model that calls an unknown tool, and then fails.
func TestModelFails(t *testing.T) {
	model := agenttest.Play(
		agenttest.CallTools("fly", `{}`),
		func(context.Context, agenttest.Turn) (*model.Response, error) {
			return nil, errors.New("the model is down")
		},
	)
	concierge, err := New(model, (&restaurant{}).open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := concierge.Run(t.Context(), agent.Text("Hello.")); err == nil {
		t.Error("got no error")
	}
	second := model.Turns()[1]
	if got, want := second.Results(), []string{`Error: there is no tool named "fly". The tools are: free, book`}; !slices.Equal(got, want) {
		t.Errorf("the model was told %q, want %q", got, want)
	}
}
