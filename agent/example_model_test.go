package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// loud is a model of the program's own.
type loud struct{}

func (loud) Info() model.Info { return model.Info{Provider: "acme", Name: "loud", Window: 8192} }

func (loud) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		text := strings.ToUpper(r.Messages[len(r.Messages)-1].Text())
		if r.Stream && !yield(model.Delta{Text: text}, nil) {
			return
		}
		yield(model.Delta{Response: &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}}, nil)
	}
}

// A model of one's own describes itself, and gives the pieces of a reply and the whole. Failures are a model.Error: the
// kind says whether the agent asks again.
func ExampleModel() {
	ctx := context.Background()
	a := must(agent.New(loud{}, nil))
	result := must(a.Run(ctx, agent.Text("Hello.")))
	fmt.Println(result.Output, result.Messages[1].Model)
	// Output: HELLO. loud
}
