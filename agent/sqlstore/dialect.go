package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// Dialect says which database a [Store] is in.
type Dialect uint8

// The dialects.
const (
	SQLite   Dialect = iota + 1 // 3.35 and later
	Postgres                    // 12 and later
)

// dialect is what differs between databases.
type dialect struct {
	name   string
	begin  string // begins a transaction that writes
	lease  string // begins one that changes leases alone
	after  string // after COMMIT and ROLLBACK: what begin left behind for the next user of the connection
	read   string // prepares a connection for a query; "": nothing does
	lock   string // after a SELECT: keeps other transactions from the rows
	text   string // the type of texts, which are ordered by their bytes
	blob   string // the type of bytes
	serial string // the type of a number that the database gives
	clock  string // a query for the time in nanoseconds; "": the clock of the process
	alone  string // keeps other processes out of the migration; "": begin does
	dollar bool   // parameters are $1, $2, … in the place of ?

	// durable returns what of the database's settings loses commits.
	durable func(context.Context, querier) error

	// again reports whether a transaction that failed so is worth another try.
	again func(error) bool

	// group says that commits are shared: one transaction writes at a time.
	group bool
}

var dialects = map[Dialect]*dialect{
	SQLite: {
		name:    "SQLite",
		begin:   beginSQLite("FULL"),
		lease:   beginSQLite("NORMAL"), // all holders are of this machine, and end with it
		after:   "; PRAGMA synchronous = FULL",
		read:    "PRAGMA busy_timeout = 10000",
		text:    "TEXT",
		blob:    "BLOB",
		serial:  "INTEGER PRIMARY KEY AUTOINCREMENT",
		durable: durableSQLite,
		again:   func(error) bool { return false }, // busy_timeout has it wait
		group:   true,
	},
	Postgres: {
		name:    "Postgres",
		begin:   beginPostgres,
		lease:   beginPostgres,
		lock:    " FOR UPDATE",
		text:    `text COLLATE "C"`,
		blob:    "bytea",
		serial:  "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		clock:   "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000",
		alone:   "SELECT pg_advisory_xact_lock(7021865414268)", // any number, the same for all
		dollar:  true,
		durable: durablePostgres,
		again:   transient,
	},
}

// beginPostgres begins a transaction. The updates compare under a row's lock.
const beginPostgres = "BEGIN ISOLATION LEVEL READ COMMITTED"

// beginSQLite begins a transaction whose commit waits for the disk (FULL) or does not (NORMAL).
func beginSQLite(synchronous string) string {
	return strings.Join([]string{
		"PRAGMA busy_timeout = 10000",         // first: what follows may meet the lock of another process
		"PRAGMA synchronous = " + synchronous, // the driver's or the DSN's default may be less
		"PRAGMA fullfsync = ON",               // on macOS, fsync leaves data in the cache of the disk
		"BEGIN IMMEDIATE",                     // takes the lock at once: one that is taken later cannot wait
	}, "; ")
}

// statement writes a statement with the dialect's parameters.
func (d *dialect) statement(text string) string {
	if !d.dollar {
		return text
	}
	var b strings.Builder
	for n, part := range strings.Split(text, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
	}
	return b.String()
}

// now is the time by the clock of the leases.
func (d *dialect) now(ctx context.Context, q querier) (time.Time, error) {
	if d.clock == "" {
		return time.Now(), nil
	}
	var ns int64
	if err := one(ctx, q, d.clock, nil, &ns); err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, ns), nil
}

// modeTries is how often the journal mode is set while another process does so, 10 ms apart:
// busy_timeout does not hold for this switch.
const modeTries = 1000

// durableSQLite has the file keep a write-ahead log, in which a commit is one write and
// one sync, and readers need not wait for a writer.
func durableSQLite(ctx context.Context, q querier) error {
	var mode string
	err := one(ctx, q, "PRAGMA journal_mode = WAL", nil, &mode)
	for try := 1; err != nil && strings.Contains(err.Error(), "database is locked") && try < modeTries; try++ {
		if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
		err = one(ctx, q, "PRAGMA journal_mode = WAL", nil, &mode)
	}
	if err != nil {
		return fmt.Errorf("set the journal mode: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("the journal mode is %q and not WAL: the database is in memory, or its file system cannot share memory, and what it keeps can be lost", mode)
	}
	return nil
}

func durablePostgres(ctx context.Context, q querier) error {
	for _, setting := range []struct{ name, bad, lost string }{
		{"synchronous_commit", "off", "a crash of the server loses the last commits"},
		{"fsync", "off", "a power failure loses commits, or the database"},
		{"full_page_writes", "off", "a power failure can damage pages"},
	} {
		var value string
		if err := one(ctx, q, "SHOW "+setting.name, nil, &value); err != nil {
			return fmt.Errorf("read the setting %s: %w", setting.name, err)
		}
		if value == setting.bad {
			return fmt.Errorf("the setting %s is %q: %s", setting.name, value, setting.lost)
		}
	}
	var encoding string
	if err := one(ctx, q, "SHOW server_encoding", nil, &encoding); err != nil {
		return fmt.Errorf("read the setting server_encoding: %w", err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has encoding %q and not UTF8, and cannot have all ids", encoding)
	}
	return nil
}

// transient reports whether Postgres asks for another try: the transaction met another
// one (serialization failure, deadlock), and it has changed nothing.
func transient(err error) bool {
	pg, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (pg.SQLState() == "40001" || pg.SQLState() == "40P01")
}
