// Package keep stores the conversations of the page. It wraps a store of runs: messages that
// edited conversations share are stored once, it knows how much each user stores, and it
// deletes old conversations.
//
// An edit begins a new conversation with the messages before the question. To avoid a copy for
// each edit, its first record has hashes of these messages, and a table has the messages, once
// per user.
package keep

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Store is a store of runs in SQLite.
type Store struct {
	sqlstore.Store
	db *sql.DB
}

// New creates the tables in the store's database. Both remain the caller's.
func New(ctx context.Context, db *sql.DB, store sqlstore.Store) (*Store, error) {
	_, err := db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS web_messages (tenant TEXT NOT NULL, hash TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (tenant, hash)) STRICT, WITHOUT ROWID;
		CREATE TABLE IF NOT EXISTS web_uses (tenant TEXT NOT NULL, run TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (tenant, run, hash)) STRICT, WITHOUT ROWID;
		CREATE INDEX IF NOT EXISTS web_uses_of ON web_uses (tenant, hash)`)
	if err != nil {
		return nil, fmt.Errorf("make the tables of messages: %w", err)
	}
	return &Store{store, db}, nil
}

// shared is what the first record of an edited conversation has in addition to its own members.
type shared struct {
	Hashes []string `json:"web_shared"`
}

// Create implements [record.Store]. It stores a run with shared messages after these; if that fails, they
// remain.
func (s *Store) Create(ctx context.Context, by record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	if len(records) == 0 {
		return s.Store.Create(ctx, by, head, records)
	}
	begun, ok := ledger.ChangeOf(records[0]).(*ledger.Begun)
	if !ok || len(begun.Messages) < 2 {
		return s.Store.Create(ctx, by, head, records)
	}
	last := len(begun.Messages) - 1
	hashes, err := s.share(ctx, head.Key, begun.Messages[:last])
	if err != nil {
		return record.Lease{}, err
	}
	short := *begun
	short.Messages = begun.Messages[last:]
	if short.Unknown, err = json.Marshal(shared{hashes}); err != nil {
		return record.Lease{}, err
	}
	first, err := ledger.Entry{Seq: records[0].Seq, At: records[0].At, Change: &short}.Encode()
	if err != nil {
		return record.Lease{}, err
	}
	return s.Store.Create(ctx, by, head, append([]run.Record{first}, records[1:]...))
}

// share stores messages before the run that uses them, and returns their hashes.
func (s *Store) share(ctx context.Context, key run.Key, messages []run.Message) (hashes []string, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	for i := range messages {
		data, err := json.Marshal(&messages[i])
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		hash := base64.RawStdEncoding.EncodeToString(sum[:18]) // within one user
		hashes = append(hashes, hash)
		if _, err := tx.ExecContext(ctx, `INSERT INTO web_messages VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key.Tenant, hash, data); err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO web_uses VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key.Tenant, key.ID, hash); err != nil {
			return nil, err
		}
	}
	return hashes, tx.Commit()
}

// Load implements [record.Store].
func (s *Store) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.Store.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, key, log)
}

// LoadCurrent implements [record.CurrentLoader].
func (s *Store) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := record.LoadCurrent(ctx, s.Store, key)
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, key, log)
}

// whole restores the shared messages in the first record of a run. The error matches [record.ErrCorrupt] if one is missing.
func (s *Store) whole(ctx context.Context, key run.Key, log *record.Log) (_ *record.Log, err error) {
	if len(log.Records) == 0 {
		return log, nil
	}
	begun, ok := ledger.ChangeOf(log.Records[0]).(*ledger.Begun)
	var others shared
	if !ok || len(begun.Unknown) == 0 || json.Unmarshal(begun.Unknown, &others) != nil || len(others.Hashes) == 0 {
		return log, nil
	}
	messages := make([]run.Message, len(others.Hashes), len(others.Hashes)+len(begun.Messages))
	for i, hash := range others.Hashes {
		var data []byte
		err = s.db.QueryRowContext(ctx, `SELECT data FROM web_messages WHERE tenant = ? AND hash = ?`, key.Tenant, hash).Scan(&data)
		if err == nil {
			err = json.Unmarshal(data, &messages[i])
		}
		if err != nil {
			return nil, fmt.Errorf("load run %q: message %d: %w: %w", key.ID, i, record.ErrCorrupt, err)
		}
	}
	whole := *begun
	whole.Messages = append(messages, begun.Messages...)
	first := &log.Records[0]
	if *first, err = (ledger.Entry{Seq: first.Seq, At: first.At, Change: &whole}).Encode(); err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return log, nil
}

// Delete implements [record.Store]. It deletes messages that no other conversation uses.
func (s *Store) Delete(ctx context.Context, key run.Key) error {
	if err := s.Store.Delete(ctx, key); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range []string{
		`DELETE FROM web_messages WHERE tenant = ?1 AND hash IN (SELECT hash FROM web_uses WHERE tenant = ?1 AND run = ?2)
			AND NOT EXISTS (SELECT 1 FROM web_uses AS u WHERE u.tenant = ?1 AND u.hash = web_messages.hash AND u.run <> ?2)`,
		`DELETE FROM web_uses WHERE tenant = ?1 AND run = ?2`,
	} {
		if _, err := tx.ExecContext(ctx, statement, key.Tenant, key.ID); err != nil {
			return fmt.Errorf("delete the messages of run %q: %w", key.ID, err)
		}
	}
	return tx.Commit()
}

// Bounds limit what a user may store. A user who stores less than both may begin or continue one more conversation.
type Bounds struct {
	Conversations int
	Bytes         int64 // of all conversations
}

// Room returns an error, for the user to read, if the user may store nothing more. begins means
// that a conversation is to be added.
func (s *Store) Room(ctx context.Context, user string, begins bool, b Bounds) error {
	conversations, bytes, err := s.Kept(ctx, user)
	switch {
	case err != nil:
		return err
	case begins && conversations >= b.Conversations:
		return fmt.Errorf("you keep as many conversations as you may (%d): delete one that you do not need", conversations)
	case bytes >= b.Bytes:
		return fmt.Errorf("your conversations fill the %d MB that they may: delete one that you do not need", bytes>>20)
	}
	return nil
}

// Kept returns how many conversations a user stores, and their bytes.
func (s *Store) Kept(ctx context.Context, user string) (conversations int, bytes int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM mcpchain_runs WHERE tenant = ?1),
		(SELECT COALESCE(SUM(LENGTH(data)), 0) FROM mcpchain_records WHERE run IN (SELECT num FROM mcpchain_runs WHERE tenant = ?1)) +
		(SELECT COALESCE(SUM(LENGTH(data)), 0) FROM web_messages WHERE tenant = ?1)`, user).Scan(&conversations, &bytes)
	return conversations, bytes, err
}
