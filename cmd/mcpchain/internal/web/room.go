package web

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// room implements talk.Options.Room. A user who stores less than both bounds may begin or continue one more conversation.
func (o *options) room(ctx context.Context, db *database.DB, user string, begins bool) error {
	conversations, err := db.Runs.Count(ctx, record.Query{Tenant: user, Agents: []string{talk.AgentName}, Limit: o.stored})
	if err != nil {
		return err
	}
	if begins && conversations >= o.stored {
		return fmt.Errorf("%w: you keep as many conversations as you may (%d): delete one that you do not need", talk.ErrFull, conversations)
	}
	var bytes int64 // with the calls of views
	err = db.QueryRowContext(ctx, `SELECT COALESCE(SUM(LENGTH(data)), 0) FROM mcpchain_records
		WHERE run IN (SELECT num FROM mcpchain_runs WHERE tenant = ?)`, user).Scan(&bytes)
	if err != nil {
		return err
	}
	if bytes >= o.bytes {
		return fmt.Errorf("%w: your conversations fill the %d MB that they may: delete one that you do not need", talk.ErrFull, bytes>>20)
	}
	return nil
}
