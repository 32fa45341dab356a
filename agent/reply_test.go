package agent

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Ids may be missing or no text, repeat in the reply, or repeat one of the history, among them ids that might be made here.
func TestCallIDs(t *testing.T) {
	call := func(id string) run.Part { return run.Part{Type: run.PartCall, ID: id} }
	var ids callIDs
	taken := map[string]bool{"": true}
	var history []run.Message
	for _, id := range []string{"call_2", "old", "call_5"} {
		history, taken[id] = append(history, run.Message{Role: run.RoleAssistant, Parts: []run.Part{call(id)}}), true
	}
	for turn := range 3 {
		good := []string{fmt.Sprintf("a%d", turn), fmt.Sprintf("call_%d", 4+10*turn)}
		given := []run.Part{{Type: run.PartText}}
		for _, id := range []string{"", good[0], good[0], "old", good[1], "", "\xff"} {
			given = append(given, call(id))
		}
		got := ids.assign(given, history, 0)
		for i, p := range got[1:] {
			check.That(t, !taken[p.ID] && p.ID != "\xff", "turn %d, call %d: id %q is empty, taken or no text", turn, i, p.ID)
			taken[p.ID] = true
		}
		check.That(t, got[2].ID == good[0] && got[5].ID == good[1] && given[1].ID == "",
			"turn %d: good ids were changed, or those of the caller: %+v, %+v", turn, got, given)
		history = append(history, run.Message{Role: run.RoleAssistant, Parts: got})
	}
	var next callIDs // of another process, after a compaction
	got := next.assign([]run.Part{call("")}, history[len(history)-1:], len(taken))
	check.That(t, !taken[got[0].ID], "got the id %q, which an earlier call of the run has", got[0].ID)
}

// What a model counts may be anything.
func TestCounted(t *testing.T) {
	for _, tt := range []struct{ told, want run.Usage }{
		{run.Usage{Input: 10, Output: 5, Cached: 4, CacheWrite: 3, Reasoning: 2}, run.Usage{Input: 10, Output: 5, Total: 15, Cached: 4, CacheWrite: 3, Reasoning: 2}},
		{run.Usage{Input: -1, Output: 5, Cached: 7, Reasoning: 9, Turns: 7, Calls: 3, Lost: 2}, run.Usage{Output: 5, Total: 5, Reasoning: 5}},
		{run.Usage{Input: 10, Cached: 8, CacheWrite: 8, Total: 100}, run.Usage{Input: 10, Total: 100, Cached: 8, CacheWrite: 2}},
		{run.Usage{Input: 1 << 60, Output: 1 << 62}, run.Usage{Input: maxCount, Output: maxCount, Total: 2 * maxCount}},
	} {
		check.Same(t, fmt.Sprintf("%+v", tt.told), clampUsage(tt.told), tt.want)
	}
}
