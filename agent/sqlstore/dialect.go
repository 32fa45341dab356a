package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// Dialect says which database a store is in.
type Dialect uint8

// The dialects.
const (
	DialectSQLite   Dialect = iota + 1 // 3.35 and later
	DialectPostgres                    // 12 and later
)

// dialect is what differs between databases.
type dialect struct {
	name   string
	reader string // sets a connection up for a query; "": nothing does
	lock   string // after a SELECT: keeps other transactions from the rows
	text   string // the type of texts, which are ordered by their bytes
	blob   string // the type of bytes
	serial string // the type of a number that the database gives
	clock  string // a query for the time in nanoseconds; "": the clock of the process
	alone  string // keeps other processes out of the migration; "": takeLock does
	remote bool   // its driver waits for a server
	dollar bool   // parameters are $1, $2, … instead of ?

	computed  string             // how a column is kept that the database computes
	room      string             // has pages keep room for updates in place; "": they do not
	takeLock  string             // takes the lock of the file, by the table of the version; "": rows have locks
	isolation sql.IsolationLevel // of a transaction that writes

	// settle returns the settings of connections that write. The error says what of the database's
	// own settings loses commits.
	settle func(context.Context, querier) (settings, error)

	// again reports whether a transaction that failed so is worth another try.
	again func(error) bool

	// group says that commits are shared: one transaction writes at a time.
	group bool

	// vacuum has the file shrink when runs are deleted.
	vacuum bool

	// compile has statements compiled once for each connection. A driver of Postgres does that itself.
	compile bool
}

var dialects = map[Dialect]*dialect{
	DialectSQLite: {
		name:     "SQLite",
		reader:   "PRAGMA busy_timeout = 10000",
		takeLock: lockSchema,
		computed: "VIRTUAL",
		text:     "TEXT",
		blob:     "BLOB",
		serial:   "INTEGER PRIMARY KEY AUTOINCREMENT",
		settle:   settleSQLite,
		again:    func(error) bool { return false }, // busy_timeout has it wait
		group:    true,
		vacuum:   true,
		compile:  true,
	},
	DialectPostgres: {
		name:      "Postgres",
		isolation: sql.LevelReadCommitted, // the updates compare under a row's lock
		lock:      " FOR UPDATE",
		text:      `text COLLATE "C"`,
		blob:      "bytea",
		serial:    "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		computed:  "STORED",
		room:      "ALTER TABLE mcpchain_runs SET (fillfactor = 80)",
		clock:     "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000",
		alone:     "SELECT pg_advisory_xact_lock(7021865414268)", // any number, the same for all
		remote:    true,
		dollar:    true,
		settle:    settlePostgres,
		again:     transient,
	},
}

// settings are statements for a connection on which a transaction writes. Empty ones are left out.
type settings struct {
	records settingsOf
	leases  settingsOf // of a transaction that changes leases alone
}

// settingsOf are run before a transaction, and after it for the next user of the connection.
type settingsOf struct{ before, after string }

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

// lockedTries is how often something is tried for which busy_timeout does not hold, 10 ms apart.
const lockedTries = 1000

// whileLocked tries again while another process has a lock.
func whileLocked(ctx context.Context, do func() error) error {
	err := do()
	for try := 1; err != nil && strings.Contains(err.Error(), "database is locked") && try < lockedTries; try++ {
		if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
		err = do()
	}
	return err
}

// settleSQLite has the file keep a write-ahead log, in which a commit is one write and
// one sync, and readers need not wait for a writer.
func settleSQLite(ctx context.Context, q querier) (settings, error) {
	if err := whileLocked(ctx, func() error {
		return one(ctx, q, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA auto_vacuum", nil, new(int))
	}); err != nil {
		return settings{}, fmt.Errorf("have the file shrink: %w", err) // it holds for a file without tables
	}
	if err := setWAL(ctx, q); err != nil {
		return settings{}, err
	}
	var pages int // after which a commit is a checkpoint, too; 0 if the program makes these itself
	if err := one(ctx, q, "PRAGMA wal_autocheckpoint", nil, &pages); err != nil {
		return settings{}, fmt.Errorf("read the pages of a checkpoint: %w", err)
	}
	s := settings{
		records: settingsOf{before: settingsSQLite("FULL")},
		leases:  settingsOf{settingsSQLite("NORMAL"), "PRAGMA synchronous = FULL"}, // all holders are of this machine, and end with it
	}
	if pages > 0 {
		s.records.before += fmt.Sprint("; PRAGMA wal_autocheckpoint = ", min(pages, math.MaxInt32/laterCheckpoint)*laterCheckpoint)
		s.records.after = fmt.Sprint("PRAGMA wal_autocheckpoint = ", pages)
	}
	return s, nil
}

// laterCheckpoint has commits of records leave checkpoints, which take as long as several commits, to commits of
// leases: mostly to the release of a run.
const laterCheckpoint = 10

// settingsSQLite has commits wait for the disk (FULL) or not (NORMAL).
func settingsSQLite(synchronous string) string {
	pragmas := []string{
		"PRAGMA busy_timeout = 10000",         // first: what follows may meet the lock of another process
		"PRAGMA synchronous = " + synchronous, // the driver's or the DSN's default may be less
		"PRAGMA journal_size_limit = 4194304", // of the write-ahead log, when it begins again after a checkpoint
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // where fsync leaves data in the cache of the disk
		pragmas = append(pragmas, "PRAGMA fullfsync = ON") // makes SQLite compile statements again
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
		return fmt.Errorf("the journal mode is %q and not WAL: the database is in memory, or its file system cannot share memory, and what it keeps can be lost", mode)
	}
	return nil
}

func settlePostgres(ctx context.Context, q querier) (settings, error) {
	for _, setting := range []struct{ name, bad, lost string }{
		{"synchronous_commit", "off", "a crash of the server loses the last commits"},
		{"fsync", "off", "a power failure loses commits, or the database"},
		{"full_page_writes", "off", "a power failure can damage pages"},
	} {
		var value string
		if err := one(ctx, q, "SHOW "+setting.name, nil, &value); err != nil {
			return settings{}, fmt.Errorf("read the setting %s: %w", setting.name, err)
		}
		if value == setting.bad {
			return settings{}, fmt.Errorf("the setting %s is %q: %s", setting.name, value, setting.lost)
		}
	}
	var encoding string
	if err := one(ctx, q, "SHOW server_encoding", nil, &encoding); err != nil {
		return settings{}, fmt.Errorf("read the setting server_encoding: %w", err)
	}
	if encoding != "UTF8" {
		return settings{}, fmt.Errorf("the database has encoding %q and not UTF8, and cannot have all ids", encoding)
	}
	return settings{}, nil
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
