package adapter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// OnChange may use the toolset.
func TestOnChangeRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ts *Toolset
		errs := make(chan error, 10)
		l := newListener(t, "a")
		ts = open(t, &Options{OnChange: func(Event) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			errs <- ts.Refresh(ctx)
		}}, Server{Name: "p", Transport: l.way})
		l.offer("a", "b")
		l.tell(t, "tools")
		start := time.Now()
		if err := <-errs; err != nil || time.Since(start) > time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
