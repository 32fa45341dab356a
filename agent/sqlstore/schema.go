package sqlstore

import (
	"context"
	"fmt"
	"strings"
)

// migrations create the tables, each from the previous version. What was released does not
// change: a change of the tables is another entry.
//
// A run's row has its head as JSON, and columns by which queries select. Its records and
// replies refer to it by num, which no later run gets.
var migrations = [][]string{
	{
		`CREATE TABLE mcpchain_runs (
			num     {serial},
			tenant  {text} NOT NULL,
			id      {text} NOT NULL,
			agent   {text} NOT NULL,
			status  {text} NOT NULL,
			updated bigint NOT NULL,
			due     bigint NOT NULL,
			seq     bigint NOT NULL,
			head    {blob} NOT NULL,
			answers bigint NOT NULL,
			epoch   bigint NOT NULL,
			held    bigint NOT NULL,
			holder  {text} NOT NULL,
			UNIQUE (tenant, id)
		)`,
		`CREATE INDEX mcpchain_runs_of_tenant ON mcpchain_runs (tenant, updated DESC, id)`,
		`CREATE INDEX mcpchain_runs_of_all ON mcpchain_runs (updated DESC, tenant, id)`,
		`CREATE INDEX mcpchain_runs_due ON mcpchain_runs (due) WHERE due < 9223372036854775807`,
		`CREATE TABLE mcpchain_records (
			run  bigint NOT NULL,
			seq  bigint NOT NULL,
			sum  bigint NOT NULL,
			data {blob} NOT NULL,
			PRIMARY KEY (run, seq)
		)`,
		`CREATE TABLE mcpchain_answers (
			run  bigint NOT NULL,
			ask  {text} NOT NULL,
			sum  bigint NOT NULL,
			data {blob} NOT NULL,
			PRIMARY KEY (run, ask)
		)`,
	},
	{ // programs of version 1 do not change these columns
		`ALTER TABLE mcpchain_runs ADD COLUMN snapshot bigint NOT NULL DEFAULT 0`,
		`ALTER TABLE mcpchain_runs ADD COLUMN ttl bigint NOT NULL DEFAULT 0`,
		`CREATE INDEX mcpchain_runs_running ON mcpchain_runs (num) WHERE status = 'running'`, // few of many
	},
	{ // data that is too long for a record
		`CREATE TABLE mcpchain_blobs (
			run    bigint NOT NULL,
			tenant {text} NOT NULL,
			name   {text} NOT NULL,
			size   bigint NOT NULL,
			sum    bigint NOT NULL,
			data   {blob} NOT NULL,
			PRIMARY KEY (run, name)
		)`,
		`CREATE INDEX mcpchain_blobs_of_tenant ON mcpchain_blobs (tenant, run, name, size)`,
	},
	{
		// An append to a running run changes no indexed column, so that Postgres updates the row
		// in place (HOT). The database computes the new column for programs of version 3, too;
		// their lists are sorted without the dropped indexes.
		`ALTER TABLE mcpchain_runs ADD COLUMN placed bigint GENERATED ALWAYS AS (CASE WHEN status = 'running' THEN 0 ELSE updated END) {computed}`,
		`CREATE INDEX mcpchain_runs_by_status ON mcpchain_runs (status, placed DESC, tenant, id)`,
		`CREATE INDEX mcpchain_runs_of_tenant_by_status ON mcpchain_runs (tenant, status, placed DESC, id)`,
		`DROP INDEX mcpchain_runs_of_tenant`,
		`DROP INDEX mcpchain_runs_of_all`,
		`DROP INDEX mcpchain_runs_running`,
		`{room}`,
	},
	{ // requests to cancel runs, see RequestCancel
		`CREATE TABLE mcpchain_wishes (
			run bigint PRIMARY KEY,
			seq bigint NOT NULL
		)`,
	},
}

const (
	version      = "SELECT version FROM mcpchain_schema"
	createSchema = "CREATE TABLE IF NOT EXISTS mcpchain_schema (version bigint NOT NULL)"

	// lockSchema takes SQLite's lock and changes nothing.
	lockSchema = "UPDATE mcpchain_schema SET version = version WHERE false"
)

// migrate creates the tables or brings them up to date. If they are up to date, it only reads.
func (s *database) migrate(ctx context.Context) error {
	var have int
	if err := one(ctx, s.db, version, nil, &have); err == nil && have == len(migrations) {
		return nil
	}
	if s.d.lockFile != "" {
		if err := s.makeSchema(ctx); err != nil {
			return err
		}
	}
	return s.attempt(ctx, func() error {
		return s.once(ctx, false, func(ctx context.Context, t *tx) error { return t.migrate(ctx) })
	})
}

// makeSchema creates the table with which SQLite transactions take their lock.
func (s *database) makeSchema(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.ExecContext(ctx, s.d.reader+"; "+createSchema)
	return err
}

// migrate creates the tables, or makes the changes since the version that they have.
func (t *tx) migrate(ctx context.Context) error {
	for _, text := range []string{t.d.alone, createSchema} {
		if text != "" {
			if _, err := t.exec(ctx, text); err != nil {
				return err
			}
		}
	}
	have := 0
	switch err := one(ctx, t, version, nil, &have); {
	case isNone(err):
		if _, err := t.exec(ctx, `INSERT INTO mcpchain_schema (version) VALUES (0)`); err != nil {
			return err
		}
	case err != nil:
		return err
	case have > len(migrations):
		return fmt.Errorf("tables have version %d, and this program knows versions up to %d; use a newer program",
			have, len(migrations))
	}
	types := strings.NewReplacer("{text}", t.d.text, "{blob}", t.d.blob, "{serial}", t.d.serial,
		"{computed}", t.d.computed, "{room}", t.d.room)
	for _, migration := range migrations[have:] {
		for _, statement := range migration {
			text := types.Replace(statement)
			if text == "" {
				continue
			}
			if _, err := t.exec(ctx, text); err != nil {
				return err
			}
		}
	}
	_, err := t.exec(ctx, `UPDATE mcpchain_schema SET version = ?`, len(migrations))
	return err
}
