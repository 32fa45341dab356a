package hosting

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhileSignedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signedIn atomic.Bool
		signedIn.Store(true)
		ctx, end := WhileSignedIn(t.Context(), signedIn.Load)
		time.Sleep(time.Hour)
		if err := ctx.Err(); err != nil {
			t.Errorf("got %v while the person is signed in", err)
		}
		signedIn.Store(false)
		time.Sleep(checkInterval)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the context has not ended with the session")
		}
		end()

		ctx, end = WhileSignedIn(t.Context(), signedIn.Load)
		end()
		if ctx.Err() == nil {
			t.Error("the context has not ended")
		}
	})
}
