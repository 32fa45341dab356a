package record_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// TestSubmitAfterProcess refuses a reply to a question that has ended with its process, as far
// as the lease tells, and takes one to a question that outlives it.
func TestSubmitAfterProcess(t *testing.T) {
	const lease = time.Minute
	review, approval := run.Reply{Question: "review", Action: run.ActionDeny}, run.Reply{Question: "approval", Action: run.ActionAllow}
	for name, tt := range map[string]struct {
		after   time.Duration // since the lease was renewed
		release bool
		reply   run.Reply
		want    error
	}{
		"it works":                   {0, false, review, nil},
		"it renews in time":          {lease/4*3 - 1, false, review, nil},
		"it has not renewed":         {lease / 4 * 3, false, review, run.ErrNotAsked},
		"its lease is over":          {lease, false, review, run.ErrNotAsked},
		"it has let the run go":      {0, true, review, run.ErrNotAsked},
		"an approval, lease is over": {lease, false, approval, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			store, key := record.NewMemory(), run.Key{ID: "held"}
			keep(t, store, key, "", &ledger.Intent{Call: "1"}, opens("review", run.QuestionSampling),
				&ledger.Opened{Question: run.Question{ID: "approval", Kind: run.QuestionApproval, Call: "2", Survives: true}})
			l, err := store.Acquire(t.Context(), key, record.Holder{Name: "asks", TTL: lease})
			check(t, err)
			if tt.release {
				check(t, store.Release(t.Context(), l))
			}
			time.Sleep(tt.after)
			err = record.Submit(t.Context(), store, key, tt.reply)
			if !errors.Is(err, tt.want) || tt.want != nil && !strings.Contains(err.Error(), `"review" of run "held": the process that asked it`) {
				t.Errorf("%s: got %v, want %v", name, err, tt.want)
			}
			if got := headOf(t, store, key).Replies; got > 0 != (tt.want == nil) {
				t.Errorf("%s: %d replies are stored", name, got)
			}
		})
	}
}
