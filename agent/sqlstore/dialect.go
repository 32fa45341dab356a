package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// dialect holds the differences between databases.
type dialect struct {
	name string

	// remote is true for a server: each statement is a round trip to it, it has parameters $1, $2, …,
	// its driver prepares statements, and it locks rows. Otherwise the database is a file, which
	// one transaction at a time writes.
	remote bool

	// configure prepares the database. The error says which of its settings loses commits.
	configure func(context.Context, querier) error

	// isRetryable reports whether a transaction that failed with this error is worth another try.
	isRetryable func(error) bool

	reader    string             // sets a connection up for a query; "": not needed
	writer    string             // sets a connection up for a transaction; "": not needed
	leases    string             // after writer, for a transaction that changes only leases; writer undoes it
	isolation sql.IsolationLevel // for transactions that write
	lockFile  string             // takes the lock of the file
	lockRows  string             // appended to a SELECT: locks the rows
	alone     string             // locks out other migrations; "": lockFile does
	clock     string             // a query for the time in nanoseconds; "": the clock of the process

	text     string // type of text that is ordered by its bytes
	blob     string // type of bytes
	serial   string // type of a number that the database assigns
	computed string // how a computed column is stored
	room     string // has pages keep room for updates in place; "": they do not
}

// The dialects, which nobody changes.
var (
	sqlite = &dialect{
		name:        "SQLite",
		configure:   configureSQLite,
		isRetryable: func(error) bool { return false }, // busy_timeout makes it wait
		reader:      "PRAGMA busy_timeout = 10000",
		writer:      settingsSQLite(),
		leases:      "PRAGMA synchronous = NORMAL", // no sync: all holders run on this machine, and end with it
		lockFile:    lockSchema,
		text:        "TEXT",
		blob:        "BLOB",
		serial:      "INTEGER PRIMARY KEY AUTOINCREMENT",
		computed:    "VIRTUAL",
	}
	postgres = &dialect{
		name:        "Postgres",
		remote:      true,
		configure:   configurePostgres,
		isRetryable: isConflict,
		isolation:   sql.LevelReadCommitted, // the updates compare under a row lock
		lockRows:    " FOR UPDATE",
		alone:       "SELECT pg_advisory_xact_lock(7021865414268)", // any number, the same in all processes
		clock:       "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000",
		text:        `text COLLATE "C"`,
		blob:        "bytea",
		serial:      "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		computed:    "STORED",
		room:        "ALTER TABLE mcpchain_runs SET (fillfactor = 80)",
	}
)

// statement returns a statement with the dialect's form of parameters.
func (d *dialect) statement(text string) string {
	if !d.remote {
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

// now returns the time of the clock by which leases expire.
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

// The attempts at an operation to which busy_timeout does not apply: together they take as long.
const (
	lockedTries = 1000
	lockedWait  = 10 * time.Millisecond
)

// whileLocked repeats an operation while another process has a lock.
func whileLocked(ctx context.Context, do func() error) error {
	err := do()
	for try := 1; err != nil && strings.Contains(err.Error(), "database is locked") && try < lockedTries; try++ {
		if err := backoff.Sleep(ctx, lockedWait); err != nil {
			return err
		}
		err = do()
	}
	return err
}

// configureSQLite sets the file to a write-ahead log, in which a commit is one write and one sync,
// and readers do not wait for a writer.
func configureSQLite(ctx context.Context, q querier) error {
	if err := whileLocked(ctx, func() error {
		return one(ctx, q, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA auto_vacuum", nil, new(int))
	}); err != nil {
		return fmt.Errorf("set auto_vacuum: %w", err) // has an effect on a file without tables
	}
	return setWAL(ctx, q)
}

// settingsSQLite returns settings whose commits wait for the disk.
func settingsSQLite() string {
	pragmas := []string{
		"PRAGMA busy_timeout = 10000",         // first, because the others may meet the lock of another process
		"PRAGMA synchronous = FULL",           // the default of the driver or the DSN may be less
		"PRAGMA journal_size_limit = 4194304", // bounds the write-ahead log when it restarts after a checkpoint
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // there fsync leaves data in the cache of the disk
		pragmas = append(pragmas, "PRAGMA fullfsync = ON")
	}
	return strings.Join(pragmas, "; ")
}

func setWAL(ctx context.Context, q querier) error {
	var mode string
	err := whileLocked(ctx, func() error { return one(ctx, q, "PRAGMA journal_mode = WAL", nil, &mode) })
	if err != nil {
		return fmt.Errorf("set the journal mode: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode is %q and not WAL: the database is in memory, "+
			"or its file system cannot share memory, and what it keeps can be lost", mode)
	}
	return nil
}

// configurePostgres refuses settings that lose commits, and encodings other than UTF8.
func configurePostgres(ctx context.Context, q querier) error {
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
			return fmt.Errorf("setting %s is %q: %s", setting.name, value, setting.lost)
		}
	}
	var encoding string
	if err := one(ctx, q, "SHOW server_encoding", nil, &encoding); err != nil {
		return fmt.Errorf("read the setting server_encoding: %w", err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("database has encoding %q and not UTF8, and cannot have all ids", encoding)
	}
	return nil
}

// isConflict reports whether Postgres asks for another try: the transaction conflicted with
// another one (serialization failure, deadlock) and has changed nothing.
func isConflict(err error) bool {
	pg, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (pg.SQLState() == "40001" || pg.SQLState() == "40P01")
}
