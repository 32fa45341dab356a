package web

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestRoom counts conversations without the calls of their views. An error of the database is not for the user.
func TestRoom(t *testing.T) {
	db, err := database.Open(t.Context(), filepath.Join(t.TempDir(), "web.db"))
	check.Must(t, err)
	for id, agent := range map[string]string{"run_1": talk.AgentName, "view-run_1-a": "web-view"} {
		ledgertest.Keep(t, db.Runs, ledgertest.Since(ledgertest.Start, &ledger.Begun{ID: id, Tenant: "Ada", Agent: ledger.AgentName{Name: agent}}))
	}
	o := &options{stored: 2, bytes: 1 << 20}
	check.NoError(t, o.room(t.Context(), db, "Ada", true))
	o.stored = 1
	check.Is(t, o.room(t.Context(), db, "Ada", true), talk.ErrFull)
	check.NoError(t, o.room(t.Context(), db, "Ada", false))
	check.NoError(t, db.Close())
	if err := o.room(t.Context(), db, "Ada", false); err == nil || errors.Is(err, talk.ErrFull) {
		t.Errorf("got %v, want the error of the database", err)
	}
}
