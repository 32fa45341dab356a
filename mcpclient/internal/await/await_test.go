package await_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

func TestClosed(t *testing.T) {
	for name, test := range map[string]struct {
		after, limit, took time.Duration // after < 0: closed before
		want               bool
	}{
		"in time":       {after: time.Second, limit: time.Minute, took: time.Second, want: true},
		"late":          {after: time.Minute, limit: time.Second, took: time.Second},
		"before":        {after: -1, limit: time.Second, want: true},
		"before, no d":  {after: -1, want: true},
		"at no time":    {after: time.Minute},
		"negative time": {after: time.Minute, limit: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := make(chan struct{})
				if test.after < 0 {
					close(c)
				} else {
					defer func() { <-c }()
					time.AfterFunc(test.after, func() { close(c) })
				}
				start, got := time.Now(), await.Closed(c, test.limit)
				check.Equal(t, "took", time.Since(start), test.took)
				check.Equal(t, "", got, test.want)
			})
		})
	}
}
