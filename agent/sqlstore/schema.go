package sqlstore

import (
	"context"
	"fmt"
	"strings"
)

// tables create the tables and their indexes.
//
// A run's row has its head as JSON, and columns by which queries select. Its records and
// replies refer to it by num, which no later run gets. An append to a running run changes no
// indexed column, so that Postgres updates the row in place (HOT): that is what placed is for.
var tables = []string{
	`CREATE TABLE mcpchain_runs (
		num      {serial},
		tenant   {text} NOT NULL,
		id       {text} NOT NULL,
		agent    {text} NOT NULL,
		status   {text} NOT NULL,
		updated  bigint NOT NULL,
		due      bigint NOT NULL,
		seq      bigint NOT NULL,
		head     {blob} NOT NULL,
		answers  bigint NOT NULL,
		epoch    bigint NOT NULL,
		held     bigint NOT NULL,
		holder   {text} NOT NULL,
		snapshot bigint NOT NULL DEFAULT 0,
		ttl      bigint NOT NULL DEFAULT 0,
		placed   bigint GENERATED ALWAYS AS (CASE WHEN status = 'running' THEN 0 ELSE updated END) {computed},
		UNIQUE (tenant, id)
	)`,
	`CREATE INDEX mcpchain_runs_due ON mcpchain_runs (due) WHERE due < 9223372036854775807`,
	`CREATE INDEX mcpchain_runs_by_status ON mcpchain_runs (status, placed DESC, tenant, id)`,
	`CREATE INDEX mcpchain_runs_of_tenant_by_status ON mcpchain_runs (tenant, status, placed DESC, id)`,
	`{room}`,
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
	`CREATE TABLE mcpchain_wishes (
		run bigint PRIMARY KEY,
		seq bigint NOT NULL
	)`,
}

// tablesVersion is the version of tables.
const tablesVersion = 5

const (
	version      = "SELECT version FROM mcpchain_schema"
	createSchema = "CREATE TABLE IF NOT EXISTS mcpchain_schema (version bigint NOT NULL)"

	// lockSchema takes SQLite's lock and changes nothing.
	lockSchema = "UPDATE mcpchain_schema SET version = version WHERE false"
)

// makeTables creates the tables. If they are there, it only reads.
func (s *database) makeTables(ctx context.Context) error {
	var have int
	if err := one(ctx, s.db, version, nil, &have); err == nil && have == tablesVersion {
		return nil
	}
	if s.d.lockFile != "" {
		if err := s.makeSchema(ctx); err != nil {
			return err
		}
	}
	return s.direct(ctx, func(ctx context.Context, t *tx) error {
		if s.d.alone != "" {
			if _, err := t.exec(ctx, s.d.alone); err != nil {
				return err
			}
		}
		return t.makeTables(ctx)
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

// makeTables creates the tables unless another process has created them.
func (t *tx) makeTables(ctx context.Context) error {
	if _, err := t.exec(ctx, createSchema); err != nil {
		return err
	}
	have := 0
	switch err := one(ctx, t, version, nil, &have); {
	case err != nil && !isNone(err):
		return err
	case err == nil && have > tablesVersion:
		return fmt.Errorf("tables have version %d, and this program knows version %d; use a newer program", have, tablesVersion)
	case err == nil && have < tablesVersion:
		return fmt.Errorf("tables have version %d, which only a development version has written, and this program knows version %d",
			have, tablesVersion)
	case err == nil:
		return nil
	}
	types := strings.NewReplacer("{text}", t.d.text, "{blob}", t.d.blob, "{serial}", t.d.serial,
		"{computed}", t.d.computed, "{room}", t.d.room)
	for _, statement := range tables {
		text := types.Replace(statement)
		if text == "" {
			continue
		}
		if _, err := t.exec(ctx, text); err != nil {
			return err
		}
	}
	_, err := t.exec(ctx, `INSERT INTO mcpchain_schema (version) VALUES (?)`, tablesVersion)
	return err
}
