package talk

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// keep stores a conversation of Ada.
func keep(t *testing.T, store record.Store, id string, at time.Time, changes ...ledger.Change) {
	t.Helper()
	begun := &ledger.Begun{
		V: ledger.Version, ID: id, Tenant: "Ada", Agent: ledger.AgentName{Name: agentName},
		Messages: []run.Message{run.Text(run.RoleUser, "hello")},
	}
	state := new(ledger.State)
	records, err := state.Add(at, append([]ledger.Change{begun}, changes...)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), record.Holder{}, ledger.HeadOf(state), records); err != nil {
		t.Fatal(err)
	}
}

// TestSignedInOfAnOldConversation continues a conversation that is not in the first page of the list.
func TestSignedInOfAnOldConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		question := run.Question{ID: "q", Kind: run.QuestionSignIn, Server: "notes", URL: "https://page.test/", Survives: true}
		keep(t, store, "old", time.Now(), &ledger.Opened{Question: question}, &ledger.Suspended{})
		for i := range maxListed {
			keep(t, store, fmt.Sprint("new", i), time.Now().Add(time.Second), &ledger.Ended{Status: run.StatusFinished, Stop: "answer"})
		}
		s, err := New(Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.SignedIn(t.Context(), "Ada", "notes"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		state, err := s.load(t.Context(), run.Key{Tenant: "Ada", ID: "old"})
		if err != nil || state.Status != run.StatusFinished {
			t.Errorf("got %+v, %v, want an answer after the sign-in", state, err)
		}
	})
}
