package talk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestWatchDeleted tells a window that its conversation is deleted in another one.
func TestWatchDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id := begun(t, Options{Model: agenttest.Play(agenttest.Say("hello")), Store: record.NewMemory()})
		ended := make(chan error, 1)
		go func() {
			ended <- s.Watch(t.Context(), "Ada", id, agent.Position{}, func([]Event) error { return nil })
		}()
		synctest.Wait()
		check.Must(t, s.Delete(t.Context(), "Ada", id))
		select {
		case err := <-ended:
			check.Is(t, err, ErrGone)
		case <-time.After(time.Minute): // by the clock of the bubble
			t.Error("the window is not told")
		}
	})
}
