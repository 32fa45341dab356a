package agent

import (
	"context"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestNoVisitBeginsAfterTheEnd(t *testing.T) {
	v := new(activeHandlers)
	v.ctx, v.cancel = context.WithCancelCause(t.Context())
	visiting, leave, ok := v.register(t.Context())
	check.Require(t, ok && visiting.Err() == nil, "got %t with error %v, want a visit", ok, visiting.Err())
	go func() {
		<-visiting.Done()
		leave()
	}()
	v.end()
	same, _, ok := v.register(t.Context())
	check.That(t, !ok && same == t.Context(), "a visit began after the end")
	v.end() // must not block
}
