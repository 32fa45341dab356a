package web

import (
	"context"
	"database/sql"
	"fmt"
)

// room returns an error, for the user to read, if the user may store nothing more. begins means
// that a conversation is to be added. A user who stores less than both bounds may begin or continue
// one more conversation.
func (o *options) room(ctx context.Context, db *sql.DB, user string, begins bool) error {
	conversations, bytes, err := kept(ctx, db, user)
	switch {
	case err != nil:
		return err
	case begins && conversations >= o.stored:
		return fmt.Errorf("you keep as many conversations as you may (%d): delete one that you do not need", conversations)
	case bytes >= o.bytes:
		return fmt.Errorf("your conversations fill the %d MB that they may: delete one that you do not need", bytes>>20)
	}
	return nil
}

// kept returns how many conversations a user stores, and their bytes.
func kept(ctx context.Context, db *sql.DB, user string) (conversations int, bytes int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM mcpchain_runs WHERE tenant = ?1),
		(SELECT COALESCE(SUM(LENGTH(data)), 0) FROM mcpchain_records WHERE run IN (SELECT num FROM mcpchain_runs WHERE tenant = ?1))`,
		user).Scan(&conversations, &bytes)
	return conversations, bytes, err
}
