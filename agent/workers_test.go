package agent_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// numbered are n calls of the function meet, each with its number.
func numbered(n int) (calls []run.Part) {
	for i := range n {
		calls = append(calls, toolCall(fmt.Sprint(i), "meet", fmt.Sprintf(`{"n":%d}`, i)))
	}
	return calls
}

type meeting struct {
	N int `json:"n"`
}

// Functions that wait for each other run at once, turn after turn, among functions that
// return immediately.
func TestFunctionsRunAtOnce(t *testing.T) {
	for name, store := range map[string]func() record.Store{
		"without a store": func() record.Store { return nil }, "with a store": func() record.Store { return record.NewMemory() },
	} {
		synctestRun(t, name, func(t *testing.T) { meetTwice(t, store()) })
	}
}

func meetTwice(t *testing.T, store record.Store) {
	const n = 64
	met := make(chan int)
	meet := func(_ context.Context, in meeting) (string, error) {
		switch {
		case in.N%4 == 0:
			return "passed", nil
		case in.N < n/2:
			met <- in.N
		default:
			<-met
		}
		return "met", nil
	}
	got := mustRun(t, newAgent(t, play(uses(numbered(n)...), uses(numbered(n)...), says("done")), &agent.Options{
		Tools:  []adapter.Source{adapter.Func("meet", "Meets another call.", meet, &adapter.FuncOptions{ReadOnly: true})},
		Limits: run.Limits{Parallel: n, Calls: -1}, Durable: agent.Durable{Store: store},
	}), human("go"))
	if agent.Inside(got.State).Spent.Calls != 2*n || got.Output != "done" {
		t.Errorf("got %d calls and %q, want %d and done", agent.Inside(got.State).Spent.Calls, got.Output, 2*n)
	}
}

// A function that ends its goroutine fails the run, and the other calls of the turn end: at once, or after others have
// continued without it.
func TestFunctionEndsItsGoroutine(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			meet := func(_ context.Context, in meeting) (string, error) {
				if in.N%2 == 0 {
					time.Sleep(after)
					runtime.Goexit()
				}
				return "passed", nil
			}
			_, err := newAgent(t, play(uses(numbered(8)...)), &agent.Options{
				Tools: []adapter.Source{adapter.Func("meet", "Meets another call.", meet, &adapter.FuncOptions{ReadOnly: true})},
			}).Run(t.Context(), human("go"))
			if err == nil || !strings.Contains(err.Error(), "ended the goroutine") {
				t.Errorf("after %v: got %v, want the end of a goroutine", after, err)
			}
		})
	}
}
