package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tmc/langchaingo/llms"
)

// BenchmarkAnswer is the cost of a run around one call of the model.
func BenchmarkAnswer(b *testing.B) {
	a := newAgent(b, instant{says("done")}, nil)
	messages := human("go")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), messages); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkToolCalls is the cost of a run with one turn of tool calls, which go
// to a server over pipes.
func BenchmarkToolCalls(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			toolset, _ := open(b, nil)
			var calls []llms.ToolCall
			for i := range n {
				calls = append(calls, toolCall(fmt.Sprint(i), "echo", `{"x":1}`))
			}
			ask, answer := uses(calls...), says("done")
			a := withTools(b, instant{func(ctx context.Context, p prompt) (*llms.ContentResponse, error) {
				if len(p.messages) == 1 {
					return ask(ctx, p)
				}
				return answer(ctx, p)
			}}, toolset, nil)
			messages := human("go")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), messages); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// instant is a model that keeps nothing.
type instant struct{ step step }

func (m instant) GenerateContent(ctx context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	return m.step(ctx, prompt{messages: messages})
}

func (instant) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }
