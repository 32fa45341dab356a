package adapter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// OnChange may use the toolset.
func TestOnChangeRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ts *Toolset
		errs, l := make(chan error, 10), newListener(t, "a")
		ts = open(t, &Options{OnChange: func(Event) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			errs <- ts.Refresh(ctx)
		}}, Server{Name: "p", Transport: l.way})
		l.offer("a", "b")
		l.tell(t, "tools")
		start := time.Now()
		err := <-errs
		check.That(t, err == nil && time.Since(start) <= time.Minute, "after %v: %v", time.Since(start), err)
	})
}
