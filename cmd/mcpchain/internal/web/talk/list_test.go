package talk

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// The list does not count a question whose answer the run has not read yet.
func TestAnsweredQuestionInTheList(t *testing.T) {
	store := record.NewMemory()
	begun := &ledger.Begun{ID: "c", Tenant: "Ada", Agent: ledger.AgentName{Name: AgentName}}
	lease := ledgertest.Keep(t, store, ledgertest.Since(ledgertest.Start, begun, ledgertest.Question("q"), &ledger.Suspended{}))
	check.Must(t, store.Release(t.Context(), lease))
	s := &Service{o: Options{Store: store}, titles: map[run.Key]string{}}
	asks := func() int {
		list, err := s.List(t.Context(), "Ada")
		check.Must(t, err)
		return list[0].Asks
	}
	check.Equal(t, "questions", asks(), 1)
	check.Must(t, store.Reply(t.Context(), run.Key{Tenant: "Ada", ID: "c"}, []run.Reply{{Question: "q", Action: run.ActionAccept}}))
	check.Equal(t, "questions with an answer", asks(), 0)
}
