package agent

import (
	"context"
	"testing"
)

func TestNoVisitBeginsAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := &run{visits: visits{ctx: ctx, cancel: cancel}}
	asked := context.WithValue(t.Context(), runKey{}, r)

	got, visiting, leave := visit(asked)
	if got != r || visiting.Err() != nil {
		t.Fatalf("visit found %v with error %v, want the run", got, visiting.Err())
	}
	go func() {
		<-visiting.Done()
		leave()
	}()
	r.visits.end()
	if got, same, _ := visit(asked); got != nil || same != asked {
		t.Error("a visit began after the end")
	}
	r.visits.end() // must not block
}
